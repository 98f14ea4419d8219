# What kernels compute a second over what they compute a byte. Columns: FLOP/byte, FLOP/s, share of
# the time of all kernels, name. Block 0 are products, block 1 other kernels; block 2 those that
# take longest: FLOP/byte, FLOP/s, number, name.
set title title_text noenhanced font ',12'
set logscale xy
set xrange [x_least : x_most]
set yrange [y_least : y_most]
set format x '%g'
set xlabel 'FLOP a byte of GPU memory'
set ylabel 'TFLOP/s'
set format y '%g'
set grid xtics ytics back
set samples 1000
set rmargin at screen 1 - list_share # what the numbers mean are labels there
set key inside left top vertical Left reverse samplen 1.5
set label 101 peak_text at first x_most, first peak / 1e12 right offset -0.5,0.6 noenhanced
set label 102 memory_text at first x_least, first x_least * bandwidth / 1e12 left \
  rotate by slope offset 1.5,1.8 noenhanced
roof(x) = (x * bandwidth < peak ? x * bandwidth : peak) / 1e12
plot roof(x) with lines ls 20 lw 1.5 title 'datasheet', \
  (fp8_peak > 0 ? fp8_peak / 1e12 : NaN) with lines ls 20 dt 2 title (fp8_peak > 0 ? 'fp8' : ''), \
  data index 0 using 1:($2 / 1e12):(0.6 + 4 * sqrt($3)) with points ls 1 pt 7 ps variable \
    title 'products', \
  data index 1 using 1:($2 / 1e12):(0.6 + 4 * sqrt($3)) with points ls 4 pt 7 ps variable \
    title 'other kernels', \
  data index 2 using 1:($2 / 1e12):3 with labels font ',9' offset 0,0.8 notitle
