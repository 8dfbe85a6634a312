#!/bin/bash
# clickhouse.sh [OPTIONS]: tables that a ClickHouse makes now, read by both; see clickhouse.py.
#
# PYTHON names a Python that has the package chdb.
python=${PYTHON:-python3}
if ! "$python" -c 'import chdb' 2>/dev/null; then
    echo "== corpus-clickhouse: 0 passed, 0 failed (no chdb)"
    exit 0
fi
exec tools/pg/private-server.sh exec -- "$python" "$(dirname "$0")/clickhouse.py" "$@"
