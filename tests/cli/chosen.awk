# Cuts an answer to the columns of CSV, keys of JSON and results of `regress` that golden text
# prints, so that a new one moves the two cases alone that print all (`whole`). A table is known by
# its first three columns. Lines of other text pass as they are.
BEGIN {
  chosen["scenario,strategy,fits"] = "step_time_s tokens_per_s_per_gpu peak_device_gib " \
    "exposed_comm_s binding_resource micro_batch grad_accum tp hbm_peak_op time_compute_s " \
    "profiles placements step_time_p10_s step_time_p90_s caveats stages"
  chosen["collective,bytes,count"] = "type time_us algbw_gbps busbw_gbps algorithm protocol " \
    "channels binding alone_us beside_us placements time_p10_us time_p90_us"
  chosen["bytes,count,type"] = "time_us algbw_gbps busbw_gbps algorithm protocol channels " \
    "binding alone_us beside_us"
  chosen["cluster,n_nodes,n_gpus"] = "meets best why strategy step_time_s tokens_per_step steps " \
    "goodput wall_s money over_budget configuration options open_gain slow_probability " \
    "slow_step_time_s sites site_loss_s sites_missing caveats"
  chosen["id,collective,bytes"] = "measured_us predicted_us error reason"
  chosen["id,metric,measured"] = "predicted error reason network"
  chosen["figure,profile,value"] = "elasticity less_step_time_s more_step_time_s caveats"
  chosen["x,x_text,x_value"] = "y y_text y_value possible fits step_time_s tokens_per_s_per_gpu " \
    "caveats"
  chosen["model,format,ranks"] = "padding_percent bytes_per_rank largest_unit"
  chosen["figure,row,metric"] = "published predicted_low predicted_high error reason"
  for (first in chosen) {
    n = split(first, names, ",")
    for (i = 1; i <= n; i++) prints[first, names[i]] = 1
    n = split(chosen[first], names, " ")
    for (i = 1; i <= n; i++) prints[first, names[i]] = 1
  }
  prediction = "scenario,strategy,fits"
}

{ line[NR] = $0 }

END {
  for (at = 1; at <= NR;) {
    if (whole) print line[at++]
    else if (regress) result_line()
    else if (at == 1 && csv_first(line[1]) in chosen) csv_table(csv_first(line[1]))
    else if (line[at] ~ /^ *\{$/ && json_first(at) in chosen) json_object(json_first(at))
    else print line[at++]
  }
}

# ---- CSV -----------------------------------------------------------------------------------------

function csv_split(text, fields,    n) {
  n = 0
  while (match(text, /^("([^"]|"")*"|[^,]*)(,|$)/) && length(text) > 0) {
    fields[++n] = substr(text, 1, RLENGTH)
    text = substr(text, RLENGTH + 1)
    sub(/,$/, "", fields[n])
  }
  return n
}

function csv_first(header,    names) {
  return csv_split(header, names) < 3 ? "" : names[1] "," names[2] "," names[3]
}

function csv_table(first,    header, fields, n, i, row) {
  n = csv_split(line[1], header)
  for (; at <= NR; at++) {
    csv_split(line[at] ",", fields)
    row = ""
    for (i = 1; i <= n; i++)
      if ((first, header[i]) in prints) row = row "," fields[i]
    print substr(row, 2)
  }
}

# ---- JSON ----------------------------------------------------------------------------------------

function indent(text) {
  match(text, /^ */)
  return RLENGTH
}

function json_key(text,    begin) {
  begin = indent(text) + 2
  return text ~ /^ *"[^"]*":/ ? substr(text, begin, index(text, "\":") - begin) : ""
}

function json_first(begin) {
  return json_key(line[begin + 1]) "," json_key(line[begin + 2]) "," json_key(line[begin + 3])
}

function json_object(first,    within, printed, key) {
  print line[at++]
  within = indent(line[at])
  for (; indent(line[at]) >= within; at++) {
    key = json_key(line[at])
    if (indent(line[at]) == within && key != "") printed = (first, key) in prints
    if (printed) print line[at]
  }
}

# ---- regress -------------------------------------------------------------------------------------

function skip_to(end) {
  while (line[at] !~ end) at++
  at++
}

# Results are rows of text, Markdown and CSV, objects of JSON, elements of JUnit. Their numbers are
# N, or 0.
function result_line(    text, words, name) {
  text = line[at]
  if (text ~ /^RESULT /) rows = 1
  else if (text == "") rows = 0
  name = ""
  if (rows && text !~ /^RESULT /) name = split(text, words, " ") ? words[1] : ""
  else if (text ~ /^\| [^|]* \| [a-z0-9_]* \| / && text !~ /^\| scenario /)
    name = split(text, words, " [|] ") ? words[2] : ""
  else if (text ~ /^[^ ,]*,[a-z0-9_]*,(same|within|moved|new|gone),/)
    name = split(text, words, ",") ? words[2] : ""
  else if (text ~ /^ *<testcase /) name = split(text, words, "\"") ? words[4] : ""
  else if (text ~ /^ *\{$/ && json_key(line[at + 1]) == "result")
    name = split(line[at + 1], words, "\"") ? words[4] : ""
  else if (json_key(text) ~ /effects$/ && text ~ /\{$/) effects = indent(text) + 2
  else if (effects && indent(text) == effects) name = json_key(text)
  else effects = 0

  if (name != "" && !((prediction, name) in prints)) {
    if (text ~ /<testcase .*[^\/]>$/) skip_to("</testcase>")
    else if (text ~ /^ *\{$/) skip_to("^ *},?$")
    else at++
    return
  }
  if (text !~ /^ /) gsub(/   */, "  ", text) # as wide as the widest of all
  counted = text ~ /^SCENARIO / || (counted && text != "")
  if (counted) text = without_counts(text)
  gsub(/(tests|failures)="[1-9][0-9]*"/, "&#", text)
  gsub(/"[0-9]*"#/, "\"N\"", text)
  print text
  at++
}

function without_counts(text,    words, n, i, row) {
  n = split(text, words, " ")
  row = words[1]
  for (i = 2; i <= n; i++)
    row = row " " (i <= 5 && words[i] ~ /^[1-9][0-9]*$/ ? "N" : words[i])
  return row
}
