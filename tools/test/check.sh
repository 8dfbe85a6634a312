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
    read -r set_passed set_failed <<<"$(sed -n \
        's/^== .*: \([0-9]*\) passed, \([0-9]*\) failed.*/\1 \2/p' "$log" |
        awk '{p += $1; f += $2} END {print p + 0, f + 0}')"
    if ! grep -q '^== .*: [0-9]* passed' "$log"; then
        [ "$status" -ne 0 ] || set_passed=1
    fi
    if [ "$status" -ne 0 ]; then
        [ "$set_failed" -gt 0 ] || set_failed=1
        bad_steps="$bad_steps $step"
    fi
    passed=$((passed + set_passed))
    failed=$((failed + set_failed))
    [ "$status" -eq 0 ] && word=done || word=FAILED
    echo "---- $step: $word after $((SECONDS - begin)) s"
done
[ -z "$bad_steps" ] || echo "failed steps:$bad_steps"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
