#!/bin/bash
# run-pgtap.sh [CLAIM...]: each test/pgtap/<claim>.sql in a database of its own, in which pgtap
# and analytics_fdw are installed; inside private-server.sh exec.
passed=0
failed=0
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
if [ $# -eq 0 ]; then
    for file in test/pgtap/*.sql; do
        [ -f "$file" ] && set -- "$@" "$(basename "$file" .sql)"
    done
fi
export PGOPTIONS='-c client_min_messages=warning'
for claim in "$@"; do
    createdb --template=template0 pgtap_test &&
        psql -qXd pgtap_test -c 'CREATE EXTENSION pgtap' -c 'CREATE EXTENSION analytics_fdw' ||
        exit 1
    # prove checks plan, order and exit status; its -v output carries the single results.
    prove -v --exec 'psql -XAtq -v ON_ERROR_STOP=1 -d pgtap_test -f' \
        "test/pgtap/$claim.sql" >"$log" 2>&1
    status=$?
    ok=$(grep -c '^ok [0-9]' "$log")
    bad=$(grep -c '^not ok [0-9]' "$log")
    if [ $status -ne 0 ]; then
        [ "$bad" -gt 0 ] || bad=1
        echo "---- test/pgtap/$claim.sql"
        grep -v '^ok [0-9]' "$log"
    fi
    passed=$((passed + ok))
    failed=$((failed + bad))
    dropdb --force pgtap_test
done
echo "== pgtap: $passed passed, $failed failed"
[ $failed -eq 0 ]
