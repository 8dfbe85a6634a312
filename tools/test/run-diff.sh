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
status=0
"$python" tools/test/diff.py || status=1
"$python" tools/test/parity.py || status=1
"$python" test/diff/run || status=1
exit $status
