#!/bin/bash
# mergetree_states.sh: aggregate states that ClickHouse writes, through a server of its own, against
# what ClickHouse finalises them to; see mergetree_states.py.  PYTHON must have the chdb package.
"${PYTHON:-python3}" -c 'import chdb' 2>/dev/null || {
    echo "== corpus-mergetree-states: 0 passed, 0 failed (no chdb)"
    exit 0
}
exec tools/pg/private-server.sh exec -- "${PYTHON:-python3}" "$(dirname "$0")/mergetree_states.py"
