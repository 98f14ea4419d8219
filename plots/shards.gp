# A line a sharding format over ranks; below, where something is off the scale, what is small.
# Columns: ranks, padding in %; a block a format.
set multiplot
set lmargin at screen 0.12
set rmargin at screen 1 - list_share
set logscale x 2
set xrange [x_least : x_most]
set grid xtics ytics back
set tmargin at screen (zoom > 0 ? 0.91 : 0.87)
set bmargin at screen (zoom > 0 ? 0.5 : 0.15)
set title title_text noenhanced font ',12'
set ylabel 'padding, %' noenhanced
set format x (zoom > 0 ? '' : '%g')
set format y '%g'
set yrange [0 : y_most]
if (zoom == 0) {
  set xlabel 'ranks' noenhanced
}
set key at screen 1 - list_share, screen 0.9 left top vertical Left reverse width 1
plot for [s = 1 : |series|] data index (s - 1) using 1:2 with linespoints ls (s - 1) % 11 + 1 \
    pt 7 ps 0.6 lw 1.8 title series[s]
if (zoom > 0) {
  set tmargin at screen 0.45
  set bmargin at screen 0.11
  unset title
  unset key
  set ylabel 'padding, %, enlarged' noenhanced
  set xlabel 'ranks' noenhanced
  set format x '%g'
  set yrange [0 : zoom]
  plot for [s = 1 : |series|] data index (s - 1) using 1:2 with linespoints \
      ls (s - 1) % 11 + 1 pt 7 ps 0.6 lw 1.8 notitle
}
unset multiplot
unset xlabel
unset title
set yrange [* : *]
