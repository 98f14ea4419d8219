# The Pareto front: less of x and more of y are better. Block 0: x, y of what is not on the front,
# block 1: what does not fit, block 2: the front in order, with the numbers of its names, which are
# labels at the right.
set title title_text noenhanced font ',12'
set xlabel x_title noenhanced
set ylabel y_title noenhanced
set xrange [x_least : x_most]
set yrange [y_least : y_most]
set grid xtics ytics back
set rmargin at screen 1 - list_share
set key at screen 1 - list_share, graph 1 left top vertical Left reverse samplen 1.5 width 1
set bmargin 4
plot data index 2 using 1:2 with steps ls 4 lw 1.5 notitle, \
  data index 0 using 1:2 with points ls 10 pt 7 ps 1 title 'behind others', \
  data index 1 using 1:2 with points ls 9 pt 6 ps 1.1 title 'does not fit', \
  data index 2 using 1:2 with points ls 4 pt 7 ps 1.2 title 'front', \
  data index 2 using 1:2:3 with labels font ',10' left offset 0.7,-0.5 notitle
