#!/bin/sh
# run-diff.sh [TOPIC...|REGEX...]: the differential tests, inside private-server.sh exec: the files
# test/diff/*.sql by diff.py, every function by parity.py, the generated queries by test/diff/run. A
# name of such a file runs that file; "parity" and what follows is for parity.py; anything else
# selects generated queries; without arguments everything runs.
python=${PYTHON:-python3}
if [ $# -gt 0 ] && [ -f "test/diff/$1.sql" ]; then
    exec "$python" tools/test/diff.py "$@"
elif [ "${1-}" = parity ]; then
    shift
    exec "$python" tools/test/parity.py "$@"
elif [ $# -gt 0 ]; then
    exec "$python" test/diff/run "$@"
fi
# Each in a database of its own, the generated queries beside the others: two cores are enough.
for name in files parity generated; do
    psql -XAtqc "CREATE DATABASE diff_$name" || exit 1
done
log=$(mktemp) || exit 1
(
    status=0
    PGDATABASE=diff_files "$python" tools/test/diff.py || status=1
    PGDATABASE=diff_parity "$python" tools/test/parity.py || status=1
    exit $status
) >"$log" 2>&1 &
status=0
PGDATABASE=diff_generated "$python" test/diff/run || status=1
wait $! || status=1
cat "$log"
rm -f "$log"
exit $status
