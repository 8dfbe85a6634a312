#!/bin/bash
# run-pgsuite.sh SRC BUILD: PostgreSQL's own regression suite, of its sources SRC and its build
# directory BUILD, inside private-server.sh exec.
source=$1/src/test/regress
build=$2/src/test/regress
out=$AX_SCRATCH/suite
# The server writes results, too.
mkdir -m 1777 "$out" "$out/results"
"$build/pg_regress" --inputdir="$source" --outputdir="$out" --dlpath="$build" \
    --bindir="$AX_PG_BIN" --schedule="$source/parallel_schedule" --max-connections=4 \
    --host="$PGHOST" --port="$PGPORT" --user=postgres --encoding=UTF8 --no-locale >"$out/log" 2>&1
status=$?
passed=$(grep -cE '\.\.\. +ok|^ok +[0-9]' "$out/log")
failed=$(grep -cE '\.\.\. +FAILED|^not ok +[0-9]' "$out/log")
if [ $status -ne 0 ]; then
    [ "$failed" -gt 0 ] || failed=1
    cat "$out/log"
    [ ! -f "$out/regression.diffs" ] || cat "$out/regression.diffs"
fi
echo "== suite: $passed passed, $failed failed"
[ $status -eq 0 ]
