#!/usr/bin/env bash
# Runs the tests of a build folder. RETRIES=N runs a failed test up to N times more; the last lines then name every test
# that needed it. Further arguments go to ctest.
set -euo pipefail
build=${1:?usage: run-tests.sh BUILD [CTEST ARGUMENTS]}
shift
ctest=/usr/bin/ctest
[ -x $ctest ] || ctest=ctest
retries=${RETRIES:-0}
# GCC 12's leak sanitizer misreads the thread storage of libraries loaded by dlopen and crashes at exit.
export ASAN_OPTIONS=${ASAN_OPTIONS:-intercept_tls_get_addr=0}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
repeat=()
if [ "$retries" -gt 0 ]; then repeat=(--repeat "until-pass:$((retries + 1))"); fi

code=0
(cd "$build" && $ctest --output-on-failure ${repeat[@]+"${repeat[@]}"} "$@") 2>&1 | tee "$log" || code=$?
if [ "$retries" -gt 0 ]; then
  # A line of ctest: "12/34 Test #5: name .....***Failed  1.2 sec"; the summary at the end repeats what stayed broken.
  retried=$(sed -nE 's/^ *[0-9]*\/?[0-9]* *Test +#[0-9]+: ([^ ]+) \.*[A-Za-z ]*\*+(Failed|Timeout|Exception).*/\1/p' "$log" | sort | uniq -c)
  if [ -z "$retried" ]; then
    echo "No test was run again."
  else
    echo "Run again after a failure (failures, test):"
    echo "$retried"
  fi
fi
exit $code
