#!/bin/bash
# The demo behind `make demo`: installs what is missing (as root), builds, writes the demo lake,
# and runs demo/tour.sql in a throw-away server. Nothing of it stays but build/.
#   demo/run.sh           the tour
#   demo/run.sh --shell   the tour's tables and a psql prompt
set -eu
cd "$(dirname "$0")/.."
tools/setup.sh demo
echo "Building ..."
mkdir -p build
make -s -j2 all >build/demo.log 2>&1 || { cat build/demo.log >&2; exit 1; }
make -s build/demo/lake/.done
file=demo/tour.sql
[ "${1-}" != --shell ] || file=demo/tables.sql
# The server may run as another user, who cannot read this tree: the lake goes with it.
exec tools/pg/private-server.sh exec -- bash -c '
    cp -R build/demo/lake "$AX_SCRATCH/lake" && chmod -R a+rX "$AX_SCRATCH/lake"
    export AX_LAKE=$AX_SCRATCH/lake
    [ "$0" = demo/tour.sql ] || exec psql -Xq -f "$0" -f -
    psql -X -q -v ON_ERROR_STOP=1 -f "$0"' "$file"
