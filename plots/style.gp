# The look of every picture. Colours: Paul Tol's 'muted' scheme, told apart with the common colour
# vision deficiencies and in grey print by their order of lightness; style lines 1 to 11 are the
# parts of a step in the order of the reports.
set style line 1 lc rgb '#332288' # model kernels
set style line 2 lc rgb '#88ccee' # optimizer
set style line 3 lc rgb '#44aa99' # copies on the GPU
set style line 4 lc rgb '#cc6677' # inter-node communication
set style line 5 lc rgb '#ddcc77' # intra-node communication
set style line 6 lc rgb '#117733' # host copies
set style line 7 lc rgb '#999933' # kernel latency
set style line 8 lc rgb '#aa4499' # host
set style line 9 lc rgb '#882255' # memory
set style line 10 lc rgb '#bbbbbb' # slowest GPU
set style line 11 lc rgb '#ee8866' # outer step
set style line 20 lc rgb '#404040' lw 1   # axes
set style line 21 lc rgb '#d8d8d8' lw 0.7 # grid
set style line 22 lc rgb '#404040' lw 1.2 dt 2 # limits

# What fills memory, in the order of the reports.
set style line 31 lc rgb '#332288' # parameter
set style line 32 lc rgb '#ddcc77' # gradient
set style line 33 lc rgb '#88ccee' # optimizer
set style line 34 lc rgb '#cc6677' # activation
set style line 35 lc rgb '#44aa99' # gathered
set style line 36 lc rgb '#aa4499' # communication
set style line 37 lc rgb '#117733' # cache
set style line 38 lc rgb '#999933' # workspace
set style line 39 lc rgb '#bbbbbb' # runtime
set style line 40 lc rgb '#ee8866' # outer

set border 3 ls 20
set tics nomirror out scale 0.6 textcolor rgb '#202020'
set grid ytics back ls 21
set style fill solid 1.0 border rgb '#ffffff'
set key outside right center vertical Left reverse samplen 1.2 spacing 1.25 textcolor rgb '#202020'
