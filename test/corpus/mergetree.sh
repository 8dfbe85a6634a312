#!/bin/bash
# mergetree.sh [PATTERN]: read the cases of the MergeTree corpus that match through a server of its
# own, and compare every row, and every damaged copy with what the corpus says of it.
#
# A case is right (all columns of all rows), refused (an error of SQLSTATE 0A000) or wrong; see
# mergetree.py.  AX_CORPUS names the corpus; with VERBOSE=1 every refusal is printed.
corpus=${AX_CORPUS:-../shared/corpus}/mergetree
if [ ! -f "$corpus/README.md" ]; then
    echo "== corpus-mergetree: 0 passed, 0 failed (no corpus)"
    exit 0
fi
exec tools/pg/private-server.sh exec -- "${PYTHON:-python3}" "$(dirname "$0")/mergetree.py" "$corpus" "$@"
