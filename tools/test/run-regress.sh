#!/bin/bash
# run-regress.sh [TEST...]: pg_regress over sql/ and expected/, inside private-server.sh exec.
# A test reads its input below $AX_TESTDATA:  \set testdata `echo "$AX_TESTDATA"`
regress=$(dirname "$(${PG_CONFIG:-pg_config} --pgxs)")/../test/regress/pg_regress
if [ $# -eq 0 ]; then
    for file in sql/*.sql; do
        [ -f "$file" ] && set -- "$@" "$(basename "$file" .sql)"
    done
fi
if [ $# -eq 0 ]; then
    echo "== installcheck: 0 passed, 0 failed"
    exit 0
fi
out=build/regress
rm -rf $out
mkdir -p $out
bindir=$AX_PG_BIN
version=$("$AX_PG_BIN/postgres" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
if [ "$version" -gt 15 ]; then
    # pg_regress can compare only what its psql prints.
    bindir=$PWD/$out/bin
    mkdir -p "$bindir"
    printf '#!/bin/bash\nset -o pipefail\n"%s/psql" "$@" 2>&1 | %s/tools/test/as_15.py %d\n' \
        "$AX_PG_BIN" "$PWD" "$version" >"$bindir/psql"
    chmod +x "$bindir/psql"
fi
"$regress" --inputdir=. --outputdir=$out --bindir="$bindir" --host="$PGHOST" --port="$PGPORT" \
    --user=postgres --dbname=regression --encoding=UTF8 --no-locale "$@" >$out/log 2>&1
status=$?
passed=$(grep -cE '^(test .* \.\.\. +ok|ok +[0-9]+)' $out/log)
failed=$(grep -cE '^(test .* \.\.\. +FAILED|not ok +[0-9]+)' $out/log)
if [ $status -ne 0 ]; then
    [ "$failed" -gt 0 ] || failed=1
    cat $out/log
    [ -f $out/regression.diffs ] && cat $out/regression.diffs
fi
echo "== installcheck: $passed passed, $failed failed"
[ $status -eq 0 ]
