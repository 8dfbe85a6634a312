#!/bin/bash
# check.sh STEP...: run the make targets one after another, go on after a failure, add up their
# summary lines ("== name: N passed, N failed"), and end with the total. A step without such a
# line counts as one test; one that ran no test at all failed, unless it says "(no corpus)".
passed=0
failed=0
bad_steps=
# Programs are built on all processors; the tests of a step run one after another.
jobs=-j$(nproc 2>/dev/null || echo 1)
case ${MAKEFLAGS-} in *jobserver*) jobs= ;; esac
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
for step in "$@"; do
    begin=$SECONDS
    # shellcheck disable=SC2086 -- no word or one
    ${MAKE:-make} -s --no-print-directory $jobs "$step" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    read -r set_passed set_failed <<<"$(sed -n \
        's/^== .*: \([0-9]*\) passed, \([0-9]*\) failed.*/\1 \2/p' "$log" |
        awk '{p += $1; f += $2} END {print p + 0, f + 0}')"
    if ! grep -q '^== .*: [0-9]* passed' "$log"; then
        [ "$status" -ne 0 ] || set_passed=1
    elif [ $((set_passed + set_failed)) -eq 0 ] && ! grep -q '^== .*(no corpus)$' "$log"; then
        echo "---- $step ran no test"
        status=1
    fi
    # A summary that counts failures outweighs the status.
    if [ "$status" -ne 0 ] || [ "$set_failed" -gt 0 ]; then
        status=1
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
