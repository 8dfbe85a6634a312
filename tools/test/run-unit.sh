#!/bin/sh
# run-unit.sh NAME RUNNER PROGRAM...: run each cmocka program, show output only of those that
# fail, and end with one summary line. RUNNER is a command put before each program, or "".
name=$1
runner=$2
shift 2
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
# Sums cmocka's closing lines, one a group of tests.
count() {
    sed -n "s/^\[  $1  \] \([0-9]*\) test(s).*/\1/p" "$log" | awk '{s += $1} END {print s + 0}'
}

passed=0
failed=0
for program in "$@"; do
    # shellcheck disable=SC2086 -- a runner may be several words
    $runner "$program" >"$log" 2>&1 </dev/null
    status=$?
    ok=$(count PASSED)
    bad=$(count FAILED)
    if [ "$status" -ne 0 ]; then
        # A crash reports no count of its own.
        [ "$bad" -gt 0 ] || bad=1
        echo "---- $program failed with status $status"
        tail -n 60 "$log"
    elif [ "$ok" -eq 0 ]; then
        # A program without a single test proves nothing.
        bad=1
        echo "---- $program ran no test"
    fi
    passed=$((passed + ok))
    failed=$((failed + bad))
done
echo "== $name: $passed passed, $failed failed ($# programs)"
[ "$failed" -eq 0 ]
