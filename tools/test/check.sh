#!/bin/bash
# check.sh STEP...: run the make targets one after another, go on after a failure, add up their
# summary lines ("== name: N passed, N failed"), and end with the total. A step without such a
# line counts as one test.
passed=0
failed=0
bad_steps=
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
for step in "$@"; do
    begin=$SECONDS
    ${MAKE:-make} --no-print-directory "$step" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    set_passed=$(sed -n 's/^== .*: \([0-9]*\) passed, [0-9]* failed.*/\1/p' "$log" | awk '{s += $1} END {print s + 0}')
    set_failed=$(sed -n 's/^== .*: [0-9]* passed, \([0-9]*\) failed.*/\1/p' "$log" | awk '{s += $1} END {print s + 0}')
    if ! grep -q '^== .*: [0-9]* passed' "$log"; then
        [ "$status" -ne 0 ] || set_passed=1
    fi
    if [ "$status" -ne 0 ]; then
        [ "$set_failed" -gt 0 ] || set_failed=1
        bad_steps="$bad_steps $step"
    fi
    passed=$((passed + set_passed))
    failed=$((failed + set_failed))
    echo "---- $step: $([ "$status" -eq 0 ] && echo done || echo FAILED) after $((SECONDS - begin)) s"
done
[ -z "$bad_steps" ] || echo "failed steps:$bad_steps"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
