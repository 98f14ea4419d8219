#!/bin/sh
# Pages of `--html` in a browser: harness.js acts on them as a reader does. Light and dark, wide and
# narrow; no message on the console, no access to the network.
# Usage: browser.sh PROGRAM SOURCE-ROOT [FOLDER]. FOLDER gets screenshots to look at.
set -u
program=$(realpath "$1")
source=$(realpath "$2")
shots=${3:+$(realpath "$3")}
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
for tool in "${chromium:-chromium}" gnuplot; do
  command -v "$tool" >/dev/null || { echo "1..0 # SKIP there is no ${tool##*/}" && exit 0; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
SHARDSIM_DATADIR=$source
export SHARDSIM_DATADIR
cd "$folder" || exit 1
mkdir out
number=0
failed=0

verdict() { # 0|1 NAME
  number=$((number + 1))
  if [ "$1" -eq 0 ]; then echo "ok $number - $2"; else
    echo "not ok $number - $2"
    failed=1
  fi
}

browse() { # FILE WIDTH SCHEME OPTION...: 0 is dark, 1 is light
  page=$1 width=$2 scheme=$3
  shift 3
  HOME=$folder timeout 100 "$chromium" --headless --no-sandbox --disable-gpu \
    --disable-dev-shm-usage --hide-scrollbars --user-data-dir="$folder/profile" \
    --host-resolver-rules='MAP * ~NOTFOUND' --enable-logging=stderr \
    --virtual-time-budget=20000 --window-size="$width,900" \
    --blink-settings="preferredColorScheme=$scheme" "$@" "file://$folder/$page"
}

# Browsers start where there is a place for them; not in every container.
echo '<p id="here">here</p>' >probe.html
browse probe.html 800 1 --dump-dom 2>err | grep -q '"here"' ||
  { echo "1..0 # SKIP chromium does not run here: $(tail -1 err)" && exit 0; }

try() { # FILE NAME WIDTH SCHEME HAS: the verdicts of harness.js, and a quiet console
  { sed 's/<\/body>.*//' "$1.html" && printf "<script>\nconst expected = '%s';\n" "$5" &&
    cat "$source/tests/pictures/harness.js" && printf '</script>\n</body>\n</html>\n'; } >acted.html
  # In a frame, as a window has a least width that is more than a phone's.
  cat >frame.html <<HTML
<!DOCTYPE html>
<iframe src="acted.html" style="width: $3px; height: 900px; border: 0"></iframe>
<script>
addEventListener('message', (event) => {
  const out = document.createElement('pre');
  out.id = 'verdicts';
  out.textContent = event.data;
  document.body.append(out);
});
</script>
HTML
  browse frame.html 1300 "$4" --dump-dom >dom 2>err
  sed -n '/<pre id="verdicts">/,/<\/pre>/{s/&gt;/>/g; s/&lt;/</g; s/&amp;/\&/g; p}' dom >verdicts
  while read -r line; do
    case $line in
      'ok - '*) verdict 0 "$2: ${line#ok - }" ;;
      'not ok - '*) verdict 1 "$2: ${line#not ok - }" ;;
    esac
  done <verdicts
  grep -q 'ok - nothing is loaded' verdicts
  verdict $? "$2: the page was acted on to its end"
  good=0
  grep -E 'CONSOLE' err >&2 && good=1
  verdict $good "$2: nothing on the console"
  sed -n 's/^background //p' verdicts >"$1-$4.background"
  [ -z "$shots" ] || browse "$1.html" "$3" "$4" --screenshot="$shots/$1-$3-$4.png" \
    --window-size="$3,${HEIGHT:-4000}" 2>/dev/null
}

# The examples of the documentation.
sed -e ':join' -e '/\\$/{N;s/ *\\\n */ /;b join' -e '}' "$source/docs/pictures.md" |
  sed -n "s|workloads/|$source/workloads/|g; s|tests/regress/|$source/tests/regress/|
    s/^    build\/shardsim \(.* --html .*\)/\1/p" >examples
while read -r arguments; do
  eval "\"$program\" $arguments" >/dev/null
  status=$?
  [ $status -eq 0 ] || { [ $status -eq 3 ] && [ "${arguments%% *}" = regress ]; }
  verdict $? "an example: $arguments"
done <examples
[ "$number" -gt 1 ] && [ -s page.html ] && [ -s quickstart.html ]
verdict $? 'the examples write their pages'

try page 'one, wide and light' 1200 1 'timeline pictures scenario'
try page 'one, narrow and dark' 390 0 'timeline pictures scenario'
try quickstart 'several, wide and dark' 1200 0 'timeline pictures scenario'
try quickstart 'several, narrow and light' 390 1 'timeline pictures scenario'
try search 'search, narrow and dark' 390 0 'timeline pictures scenario'
try plan 'plan, narrow and light' 390 1 'pictures scenario'
try regress 'regress, narrow and light' 390 1 ''
try sweep 'sweep, narrow and dark' 390 0 'pictures scenario'

# More rows than a page draws at once.
"$program" compare --cluster dgx-h100 --model opt-1.3b --strategy fsdp2 --seq-len 256 \
  --micro-batch "$(seq -s, 1 60)" --grad-accum 1,2,3,4 --html many.html >many.txt
verdict $? 'a comparison of 240'
try many 'many rows, narrow and light' 390 1 'pictures scenario many'
try many 'many rows, wide and dark' 1200 0 'pictures scenario many'
for page in page quickstart; do
  [ -s $page-0.background ] && ! cmp -s $page-0.background $page-1.background
  verdict $? "$page: dark is not light"
done
echo "1..$number"
exit $failed
