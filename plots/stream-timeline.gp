# A row a stream, a box an op, coloured by what its time counts as. Block p of the data is that of
# part p: begin, end, row; the last block are names: begin, end, row, name, colour.
set title title_text noenhanced font ',12'
set style fill solid 1.0 noborder
set yrange [rows - 0.5 : -0.5] # the first row at the top
set xrange [from / unit : to / unit]
set ytics scale 0
set grid xtics noytics back
set format x '%g '.unit_name # from the start of the period
set key outside below center horizontal Left reverse samplen 1 width 1
plot for [p = 1 : |part_styles|] data index (p - 1) \
    using (($1 + $2) / 2 / unit):3:($1 / unit):($2 / unit):($3 - 0.38):($3 + 0.38) \
    with boxxyerror ls part_styles[p] title part_names[p], \
  data index |part_styles| using (($1 + $2) / 2 / unit):3:4:5 with labels font ',8' \
    textcolor rgb variable notitle
