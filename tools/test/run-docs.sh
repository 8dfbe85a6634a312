#!/bin/bash
# run-docs.sh [NAME...]: runs the SQL of the reference pages (docs/user/reference) over the demo
# lake, inside private-server.sh exec. What a page says works, works; a statement with a comment
# "-- ERROR" fails, and with the SQLSTATE that stands there, if one does.
#
# A page's blocks run one after another in a session of their own, in a transaction that is rolled
# back; /data/lake stands for the lake.
passed=0
failed=0
lake=$AX_SCRATCH/lake
cp -R build/demo/lake "$lake" && chmod -R a+rX "$lake"
AX_LAKE=$lake psql -X -q -v ON_ERROR_STOP=1 -f demo/tables.sql || exit 1
for page in docs/user/reference/*.md docs/user/reference/*/*.md; do
    name=$(basename "$page" .md)
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    grep -q '^```sql' "$page" || continue
    # Each statement behind a savepoint; psql says after it what became of it.
    script=$(awk -v lake="$lake" '
        /^```/ { inside = $0 == "```sql"; next }
        !inside { next }
        {
            want = ""
            if (match($0, /-- ERROR(: [0-9A-Z][0-9A-Z][0-9A-Z][0-9A-Z][0-9A-Z]$)?/)) {
                want = substr($0, RSTART + 3, RLENGTH - 3)
                sub(/ *-- ERROR.*/, "")
            }
            gsub("/data/lake", lake)
            if (!open) { print "SAVEPOINT s;"; open = 1 }
            print
            quotes += gsub(/\$\$/, "$$")
            if ($0 ~ /; *$/ && quotes % 2 == 0) {
                print "\\echo @ :SQLSTATE " want
                print "\\if :ERROR\nROLLBACK TO s;\n\\endif"
                open = 0
            }
        }' "$page")
    log=$(printf 'SET search_path = lake;\nBEGIN;\n%s\nROLLBACK;\n' "$script" |
        psql -X -q -v ON_ERROR_STOP=0 2>&1)
    verdicts=$(grep '^@ ' <<<"$log")
    if [ -n "$verdicts" ] && ! grep -vqE '^@ (00000 ?|[0-9A-Z]{5} ERROR|([0-9A-Z]{5}) ERROR: \2)$' \
        <<<"$verdicts" && ! grep -qE '^@ 00000 ERROR' <<<"$verdicts"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "---- $page"
        echo "$log"
    fi
done
echo "== docs: $passed passed, $failed failed"
[ $failed -eq 0 ]
