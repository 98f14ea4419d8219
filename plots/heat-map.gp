# A cell an entry of a matrix. Columns: x, y, value, its text, whether words stand in its place.
set title title_text noenhanced font ',12'
set xlabel x_title noenhanced
set ylabel y_title noenhanced
set cblabel z_title noenhanced offset 0.5,0
set rmargin 16
set xrange [-0.5 : columns - 0.5]
set yrange [rows - 0.5 : -0.5] # the first row at the top
set border 0
unset grid
set tics scale 0
unset key
# light to dark: text on it is dark below the middle, light above
set palette defined (0 '#f2f0f7', 0.25 '#cbc9e2', 0.5 '#9e9ac8', 0.75 '#756bb1', 1 '#54278f')
set cbrange [least : most]
set colorbox user origin graph 1.03, graph 0 size 0.03, graph 1
place(x, value) = value == value ? x : NaN # nothing is drawn where there is none
text_colour(value) = (value - least) / (most - least) > 0.55 ? 0xfefefe : 0x101010
plot data using 1:2:(0.48 * $5):(0.48 * $5) with boxxyerror fs solid 1.0 noborder \
    fc rgb '#e4e4e4', \
  data using 1:2:($5 > 0 ? strcol(4) : '') with labels textcolor rgb '#101010', \
  data using (place($1, $3)):2:(0.48):(0.48):3 with boxxyerror fs solid 1.0 noborder \
    lc palette, \
  data using (place($1, $3)):2:4:(text_colour($3)) with labels textcolor rgb variable
