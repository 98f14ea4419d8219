# A line a type of node over the number of nodes, with a band around it; a dashed line is the limit
# that is asked for. Columns: nodes, y, lower and upper end of the band; a block a type.
set title title_text noenhanced font ',12'
set xlabel x_title noenhanced
set ylabel y_title noenhanced
set logscale x 2
set format x '%g'
set format y '%.1s%c'
if (logarithmic) {
  set logscale y 10
  set ytics autofreq
  do for [power = -4 : 6] {
    do for [digit in '1 2 5'] {
      at = digit * 10.0**power
      set ytics add (sprintf('%g', at) at)
    }
  }
}
set xrange [x_least : x_most]
set yrange [y_least : y_most]
set grid xtics ytics back
set lmargin at screen 0.13
set rmargin at screen 1 - list_share
set bmargin 4
set key at screen 1 - list_share, graph 1 left top vertical Left reverse width 1
if (limit > 0) {
  set arrow 1 from graph 0, first limit to graph 1, first limit nohead ls 22
  set label 1 limit_title at graph 0.01, first limit left offset 0,0.6 textcolor rgb '#404040' \
    noenhanced
}
plot for [s = 1 : |series|] data index (s - 1) using 1:3:4 with filledcurves \
    ls (s - 1) % 11 + 1 fs transparent solid 0.3 noborder notitle, \
  for [s = 1 : |series|] data index (s - 1) using 1:2 with linespoints ls (s - 1) % 11 + 1 pt 7 \
    ps 0.9 lw 1.8 title series[s]
unset logscale y
set ytics autofreq
unset arrow
unset label
