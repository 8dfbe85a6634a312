#!/bin/sh
# run-replay.sh DIR NAME...: run the stand-alone fuzz programs DIR/NAME over their kept inputs:
# test/fuzz/corpus/NAME/ and the files of $AX_CORPUS named by test/fuzz/corpus/NAME.list (one
# shell pattern a line, relative to the corpus). One test is one target.
dir=$1
shift
passed=0
failed=0
inputs=$(mktemp) || exit 1
log=$(mktemp) || exit 1
trap 'rm -f "$inputs" "$log"' EXIT
for name in "$@"; do
    : >"$inputs"
    [ -d "test/fuzz/corpus/$name" ] && find "test/fuzz/corpus/$name" -type f | sort >>"$inputs"
    if [ -f "test/fuzz/corpus/$name.list" ]; then
        grep -v '^#' "test/fuzz/corpus/$name.list" | while read -r pattern; do
            [ -n "$pattern" ] || continue
            for file in $AX_CORPUS/$pattern; do
                [ -f "$file" ] && printf '%s\n' "$file"
            done
        done >>"$inputs"
    fi
    if "$dir/$name" "@$inputs" >"$log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "---- fuzz target $name failed"
        tail -n 60 "$log"
    fi
done
echo "== fuzz-replay: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
