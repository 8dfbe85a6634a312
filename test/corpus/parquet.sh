#!/bin/bash
# parquet.sh [PATTERN]: run `axq count` over the Parquet files of the corpus that match.
#
# Files of Arrow with large strings and its own schema (T10) are among them.
# Each file gets 10 seconds and 2 GiB of address space. It is read (then its number of rows is
# compared with what another reader found, see MANIFEST.tsv), or refused with a message that names
# the place; a crash, a hang, a wrong number of rows, and a file read although the corpus says that
# it must be refused are failures.
# AX_CORPUS names the corpus, AXQ the program; with VERBOSE=1 every refusal is printed.
corpus=${AX_CORPUS:-../shared/corpus}/parquet
axq=${AXQ:-build/axq}
pattern=${1:-}
if [ ! -f "$corpus/MANIFEST.tsv" ]; then
    echo "== corpus-parquet: 0 passed, 0 failed (no corpus)"
    exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# Files whose note begins with "must be refused"; the note's folder stands in its section. Notes
# that leave a choice are left out, and those about columns that are refused for now anyway.
awk -F'|' '
    /^Source: .*folder `/ { split($0, part, "folder `"); sub(/`.*/, "", part[2]); dir = part[2] }
    ($4 ~ /^ \*\*must be refused/ && $4 !~ /must be refused \(or/) || $4 ~ /must be refused without a crash/ {
        name = $2; gsub(/[ `]/, "", name); print dir name
    }' "$corpus/README.md" | sort >"$work/refuse"

read=0 refused=0 failed=0
while IFS=$'\t' read -r path _ _ _ _ _ _ oracle _; do
    case $path in *"$pattern"*) ;; *) continue ;; esac
    [ "$path" = path ] && continue
    # Side files (expected values, notes) are listed as well.
    case $path in
    *.parquet | *.parq | *.parquet.encrypted | *.pq | *.par) ;;
    *) [ -n "$oracle" ] && [ "$oracle" != - ] || continue ;;
    esac
    out=$(
        ulimit -v 2097152
        timeout 10 "$axq" count "$corpus/$path" 2>"$work/err"
    )
    status=$?
    if [ $status -eq 0 ]; then
        if grep -qxF "$path" "$work/refuse"; then
            echo "WRONG  $path: must be refused, was read"
            failed=$((failed + 1))
        elif [[ $oracle =~ ^ok\ ([0-9]+)$ ]] && [ "$out" != "${BASH_REMATCH[1]}" ]; then
            echo "WRONG  $path: $out rows, expected $oracle"
            failed=$((failed + 1))
        else
            read=$((read + 1))
            case $oracle in error*) [ -n "$VERBOSE" ] && echo "read   $path: $out rows" ;; esac
        fi
    elif [ $status -eq 1 ] && ! grep -q '(file "' "$work/err"; then
        echo "WRONG  $path: refused without a place: $(head -n 1 "$work/err" | cut -c1-300)"
        failed=$((failed + 1))
    elif [ $status -eq 1 ]; then
        refused=$((refused + 1))
        [ -n "$VERBOSE" ] && echo "refuse $path: $(cut -c1-300 "$work/err")"
    else
        echo "BROKEN $path: status $status: $(tail -n 2 "$work/err" | cut -c1-300)"
        failed=$((failed + 1))
    fi
done <"$corpus/MANIFEST.tsv"
echo "corpus: $read read, $refused refused, $failed failed"
echo "== corpus-parquet: $((read + refused)) passed, $failed failed"
[ $failed -eq 0 ]
