#!/bin/bash
# run-prove.sh [NNN_claim...]: TAP tests that start their own servers (test/t/*.pl), inside
# private-server.sh tree. They run as the server's user, since PostgreSQL refuses root; the tests
# are copied to where that user can read them.
here=$PWD
perl=$(dirname "$(${PG_CONFIG:-pg_config} --pgxs)")/../test/perl
regress=$(dirname "$(${PG_CONFIG:-pg_config} --pgxs)")/../test/regress/pg_regress
if [ $# -eq 0 ]; then
    for file in test/t/*.pl; do
        [ -f "$file" ] && set -- "$@" "$(basename "$file" .pl)"
    done
fi
passed=0
failed=0
work=$AX_TOP/prove
mkdir -p "$work"
[ -d test/t ] && cp -R test/t "$work/t"
[ "$(id -u)" -ne 0 ] || chown -R "$AX_SERVER_USER" "$work"
as_user=()
[ "$(id -u)" -ne 0 ] ||
    as_user=(setpriv --reuid="$AX_SERVER_USER" --regid="$(id -g "$AX_SERVER_USER")"
        --clear-groups)
for claim in "$@"; do
    log=$work/$claim.log
    (cd "$work" && "${as_user[@]}" env HOME="$work" PG_REGRESS="$regress" \
        TESTDATADIR="$work/$claim.data" TESTLOGDIR="$work/$claim.logs" TESTDIR="$work" \
        PGPORT=65432 AX_TESTDATA="$AX_TESTDATA" \
        prove -v -I "$perl" -I "$work/t" "t/$claim.pl") >"$log" 2>&1
    status=$?
    ok=$(grep -c '^ok [0-9]' "$log")
    bad=$(grep -c '^not ok [0-9]' "$log")
    if [ $status -ne 0 ]; then
        [ "$bad" -gt 0 ] || bad=1
        echo "---- test/t/$claim.pl"
        grep -v '^ok [0-9]' "$log"
        mkdir -p "$here/build/prove"
        cp -R "$work"/*log* "$work/tmp_check" "$here/build/prove/" 2>/dev/null
    fi
    passed=$((passed + ok))
    failed=$((failed + bad))
done
echo "== prove: $passed passed, $failed failed"
[ $failed -eq 0 ]
