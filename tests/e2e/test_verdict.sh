#!/usr/bin/env bash
# `plimsoll verdict` from outside: exit codes, one JSON object, batches, bad input.
set -u
plimsoll=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $1"; exit 1; }
has() { grep -q -- "$2" "$1" || { cat "$1"; fail "expected $2"; }; }

awk 'BEGIN { srand(1); print "time,bytes"; for (i = 0; i < 500; ++i) print i "," 2e9 + 1e6 * i + 4e6 * rand() + (i % 50 > 45 ? 8e8 : 0) }' > "$work/leak.csv"
awk 'BEGIN { srand(2); for (i = 0; i < 500; ++i) print i "," 2e9 + 4e6 * rand() + (i % 50 > 45 ? 8e8 : 0) }' > "$work/flat.csv"

"$plimsoll" verdict "$work/leak.csv" --limit 4GB --json --online --fail-on-leak > "$work/out" 2> "$work/err"
[ $? = 10 ] || fail "a leak with --fail-on-leak must exit with 10"
[ "$(wc -l < "$work/out")" = 1 ] || fail "exactly one line of JSON on stdout"
for key in '"verdict":"leak"' rate_bytes_per_second rate_interval '"rate_bytes_per_step":null' floor_start_bytes floor_end_bytes onset_seconds \
  seconds_to_limit '"limit_bytes":4000000000' '"culprit":{"pid":null' '"spikes":{"count":1' '"samples":500' sentence first_leak_seconds; do
  has "$work/out" "$key"
done
has "$work/err" "^Leak: "

"$plimsoll" verdict "$work/flat.csv" --fail-on-leak > "$work/out" || fail "no leak must exit with 0"
has "$work/out" "^No leak: "

{
  awk -F, 'NR > 1 { t = t (NR > 2 ? "," : "") $1; b = b (NR > 2 ? "," : "") $2 } END { print "{\"id\":\"a\",\"t\":[" t "],\"bytes\":[" b "]}" }' "$work/leak.csv"
  echo '{"id":"b","t":[1],"bytes":[1,2]}'
  echo 'nonsense'
} > "$work/batch.jsonl"
"$plimsoll" verdict --batch "$work/batch.jsonl" > "$work/out" 2> "$work/err"
[ $? = 2 ] || fail "a wrong line must end with 2"
[ "$(wc -l < "$work/out")" = 3 ] || fail "an answer for each line"
has "$work/out" '^{"id":"a","verdict":"leak"'
has "$work/out" '^{"id":"b","line":2,"error"'
has "$work/out" '^{"id":null,"line":3,"error"'

for arguments in "$work/none.csv" "" "$work" "$work/leak.csv --limit 80x"; do
  # shellcheck disable=SC2086
  "$plimsoll" verdict $arguments > "$work/out" 2> "$work/err"
  [ $? = 2 ] || fail "bad input must exit with 2: $arguments"
  [ "$(wc -l < "$work/err")" = 1 ] || fail "one line for: $arguments"
done
"$plimsoll" verdict "$work" 2> "$work/err"
has "$work/err" "is a folder"

# What comes through a pipe is read once.
for file in - /dev/stdin; do
  "$plimsoll" verdict "$file" --fail-on-leak < <(cat "$work/leak.csv") > "$work/out"
  [ $? = 10 ] || fail "a leak through a pipe must exit with 10: $file"
done
"$plimsoll" verdict <(cat "$work/flat.csv") > "$work/out" || fail "a pipe with a name of its own"
has "$work/out" "^No leak: "

# Two processes in one table: the one that leaks is named.
awk -F, 'BEGIN { print "pid,time,rss,name" } NR > 1 { print "7," $1 "," 1e9 ",still\n8," $1 "," $2 ",leaky" }' "$work/leak.csv" > "$work/two.csv"
"$plimsoll" verdict "$work/two.csv" --fail-on-leak > "$work/out"
[ $? = 10 ] || fail "a leak in one of two processes must exit with 10"
has "$work/out" "^leaky: Leak: "

# Names are somebody else's text.
awk -F, 'BEGIN { print "pid,time,rss,name" } NR > 1 { print "7," $1 "," 1e9 ",still\n8," $1 "," $2 ",\033[2Jleaky" }' "$work/leak.csv" > "$work/hostile.csv"
"$plimsoll" verdict "$work/hostile.csv" > "$work/out"
has "$work/out" '^\\x1b\[2Jleaky: Leak: '

"$plimsoll" verdict "$work/leak.csv" > /dev/full 2> "$work/err"
[ $? = 1 ] || fail "output that is lost must exit with 1"
has "$work/err" "^plimsoll: cannot write to standard output: No space left on device$"
echo ok
