#!/bin/sh
# coverage.sh DIR FOLDER PERCENT: run the stand-alone fuzz programs below DIR/replay, which were
# built with --coverage, over test/fuzz/corpus/, and report the lines of FOLDER that ran, file by
# file. Fails below PERCENT.
dir=$1 folder=$2 least=$3
find "$dir" -name '*.gcda' -delete
for program in "$dir"/replay/*; do
    name=$(basename "$program")
    [ -d "test/fuzz/corpus/$name" ] || continue
    inputs=$(mktemp) || exit 1
    find "test/fuzz/corpus/$name" -type f | sort >"$inputs"
    "$program" "@$inputs" >/dev/null
    status=$?
    rm -f "$inputs"
    [ $status -eq 0 ] || { echo "fuzz target $name failed"; exit 1; }
done
for file in "$folder"/*.c; do
    case $file in *_test.c | *_bench.c) continue ;; esac
    gcov -n -o "$dir/${file%.c}.o" "$file" 2>/dev/null | grep -A1 "^File '$file'"
done | awk -v least="$least" '
    /^File/ { gsub(/^File .*\/|'\''$/, ""); name = $0 }
    /^Lines executed/ {
        split($0, part, /[:% ]+/)
        printf "%6.1f %% of %4d  %s\n", part[3], part[5], name
        ran += part[3] * part[5] / 100; all += part[5]
    }
    END {
        total = all > 0 ? 100 * ran / all : 0
        printf "== coverage: %.1f %% of %d lines, at least %s %% wanted\n", total, all, least
        exit total < least
    }'
