# What fills a GPU's memory. Columns: time, then GiB of each category; the first is drawn lowest.
set title title_text noenhanced font ',12'
set style fill solid 1.0 noborder
set xrange [0 : length / unit]
set yrange [0 : top]
set format x '%g '.unit_name # from the start of the period
set ylabel 'GPU memory (GiB)'
set grid xtics ytics front
set key outside right center vertical Left reverse invert
if (capacity <= top) {
  set arrow 1 from graph 0, first capacity to graph 1, first capacity nohead ls 22 front
  set label 1 sprintf('%.1f GiB', capacity) at graph 0.99, first capacity right offset 0,0.6 front
}
plot for [c = |category_styles| : 1 : -1] \
    data using ($1 / unit):(sum [i = 1 : c] column(i + 1)) \
    with fillsteps ls category_styles[c] title category_names[c]
