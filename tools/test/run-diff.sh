#!/bin/sh
# run-diff.sh [TOPIC...]: the differential test, inside private-server.sh exec; see diff.py.
exec "${PYTHON:-python3}" tools/test/diff.py "$@"
