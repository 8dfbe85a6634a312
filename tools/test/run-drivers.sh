#!/bin/bash
# run-drivers.sh [psycopg|jdbc|node...]: the suites of test/drivers, each by its client library,
# inside private-server.sh exec --tcp. A library that is not installed is named and its suite is
# not counted; `tools/setup.sh drivers` installs them.
[ $# -gt 0 ] || set -- psycopg jdbc node
passed=0
failed=0
absent=
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

# Debian's interpreter, where Debian's package is, may not be the first in PATH.
python() {
    local p
    for p in "${PYTHON:-python3}" /usr/bin/python3; do
        "$p" -c 'import psycopg' 2>/dev/null && { echo "$p"; return; }
    done
}
node_path=$PWD/build/drivers/node_modules:/usr/share/nodejs
jdbc=$(ls /usr/share/java/postgresql.jar 2>/dev/null)

for suite in "$@"; do
    command=()
    case $suite in
        psycopg) [ -z "$(python)" ] || command=("$(python)" test/drivers/psycopg_suite.py) ;;
        jdbc) [ -z "$jdbc" ] || ! command -v javac >/dev/null ||
            command=(java -cp "$jdbc" test/drivers/JdbcSuite.java
                "jdbc:postgresql://127.0.0.1:$PGPORT/drivers?user=postgres") ;;
        node) ! NODE_PATH=$node_path node -e 'require("pg")' 2>/dev/null ||
            command=(env NODE_PATH="$node_path" node test/drivers/node_suite.js) ;;
        *) echo "no suite $suite" >&2; exit 2 ;;
    esac
    if [ ${#command[@]} -eq 0 ]; then
        absent="$absent $suite"
        continue
    fi
    createdb --template=template0 drivers &&
        psql -qXd drivers -v path="$AX_TESTDATA/events.parquet" -v ON_ERROR_STOP=1 \
            -f test/drivers/schema.sql || exit 1
    PGDATABASE=drivers "${command[@]}" >"$log" 2>&1
    status=$?
    ok=$(grep -c '^ok [0-9]' "$log")
    bad=$(grep -c '^not ok [0-9]' "$log")
    if [ $status -ne 0 ] || ! grep -q '^1\.\.' "$log"; then
        [ "$bad" -gt 0 ] || bad=1
        echo "---- test/drivers: $suite"
        grep -v '^ok [0-9]' "$log"
    fi
    passed=$((passed + ok))
    failed=$((failed + bad))
    dropdb --force drivers
done
echo "== drivers: $passed passed, $failed failed${absent:+ (not installed, not run:$absent)}"
[ $failed -eq 0 ]
