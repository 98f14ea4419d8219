# A line a series over the number of GPUs; dotted: as many times more as there are GPUs; below, what
# there is of that. Columns: x, y, y as it would be; a block a series.
set multiplot
set lmargin at screen 0.13
set rmargin at screen 1 - list_share
set logscale x 2
set xrange [x_least : x_most]
set grid xtics ytics back
set tmargin at screen 0.91
set bmargin at screen 0.42
set title title_text noenhanced font ',12'
set ylabel y_title noenhanced
set logscale y 10
set format x ''
set format y '%.0s%c'
set key at screen 1 - list_share, screen 0.91 left top vertical Left reverse width 1
plot for [s = 1 : |series|] data index (s - 1) using 1:3 with lines ls (s - 1) % 11 + 1 dt 3 \
    notitle, \
  for [s = 1 : |series|] data index (s - 1) using 1:2 with linespoints ls (s - 1) % 11 + 1 pt 7 \
    ps 0.9 lw 1.8 title series[s]
set tmargin at screen 0.36
set bmargin at screen 0.12
unset title
unset key
unset logscale y
set ylabel '% of that'
set xlabel x_title noenhanced
set yrange [0 : *]
set format x '%g'
set format y '%g'
plot 100 with lines ls 20 dt 3 notitle, \
  for [s = 1 : |series|] data index (s - 1) using 1:(100 * $2 / $3) with linespoints \
    ls (s - 1) % 11 + 1 pt 7 ps 0.9 lw 1.8 notitle
unset multiplot
unset xlabel
set yrange [* : *]
