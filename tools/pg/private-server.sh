#!/bin/bash
# A throw-away PostgreSQL with the extension installed, touching no system directory.
#
#   private-server.sh exec [options] -- CMD...   start, run CMD with PGHOST etc. set, stop, remove
#   private-server.sh tree [options] -- CMD...   only the installed copy; CMD starts its own servers
#   private-server.sh start [options] DIR        start a server in the new directory DIR; it stays
#   private-server.sh stop DIR                   stop it and remove DIR
#   --locale=L      initdb's locale (default C.UTF-8 when there, else C); encoding is UTF8
#   --libc=L        compile the C library's locale L, as de_DE, for this server (repeatable); where
#                   its sources or localedef are missing it is left out
#   --conf='a = b'  a line more in postgresql.conf (repeatable)
#   --tcp           listen on 127.0.0.1 too, at a free port, which PGPORT tells
#   --no-install    do not install the extension
#
# How: PostgreSQL finds its share and library directories relative to its own executable as long
# as the relative layout is kept. So the binaries are copied below a temporary root, share and lib
# become trees of symbolic links, and `make install DESTDIR=<root>` adds our files.
#
# A server refuses to run as root: root runs it as user "postgres" (or "nobody"). CMD runs as the
# caller, connects as superuser "postgres" over a private socket, and finds in its environment
#   PGHOST PGPORT PGUSER PGDATABASE  where to connect
#   AX_PG_BIN      the copied binaries, also first in PATH
#   AX_TESTDATA    a copy of build/testdata that the server can read
#   AX_SCRATCH     an empty directory that server and caller can write to
#   AX_SERVER_USER the user that runs the server
set -u

here=$(cd "$(dirname "$0")/../.." && pwd -P)
# An absolute name: the copy's own pg_config comes first in PATH later.
PG_CONFIG=$(command -v "${PG_CONFIG:-pg_config}")
export PG_CONFIG

die() { echo "private-server: $*" >&2; exit 1; }

as_server() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid="$server_user" --regid="$(id -g "$server_user")" --clear-groups \
            env HOME="$top" LD_LIBRARY_PATH="${LD_LIBRARY_PATH-}" "$@"
    else
        "$@"
    fi
}

choose_user() {
    server_user=$(id -un)
    if [ "$(id -u)" -eq 0 ]; then
        server_user=postgres
        id "$server_user" >/dev/null 2>&1 || server_user=nobody
    fi
}

# Copies the installation of $PG_CONFIG below $top/root and installs the extension there.
make_tree() {
    [ -n "$PG_CONFIG" ] ||
        die "no pg_config: install PostgreSQL's server-dev package"
    local bin share lib
    bin=$("$PG_CONFIG" --bindir)
    share=$("$PG_CONFIG" --sharedir)
    lib=$("$PG_CONFIG" --pkglibdir)
    [ -x "$bin/initdb" ] || die "no server in $bin: install the PostgreSQL server package"
    root=$top/root
    mkdir -p "$root$bin" "$root$share" "$root$lib" "$top/scratch"
    cp -R --reflink=auto "$bin/." "$root$bin/" || die "cannot copy $bin"
    cp -Rs "$share/." "$root$share/" || die "cannot link $share"
    # pgxs and bitcode are development files; the server never opens them.
    local entry
    for entry in "$lib"/*; do
        case ${entry##*/} in
            pgxs | bitcode | bin) ;;
            *) [ -e "$root$entry" ] || cp -Rs "$entry" "$root$lib/" ;;
        esac
    done
    bindir=$root$bin
    if [ "$install" = yes ]; then
        # A copy installed system-wide must not shadow ours, nor be written through its link.
        rm -f "$root$lib"/analytics_fdw*.so "$root$share"/extension/analytics_fdw*
        make -C "$here" -s --no-print-directory install DESTDIR="$root" >"$top/install.log" 2>&1 ||
            { cat "$top/install.log" >&2; die "make install failed"; }
    fi
    if [ -d "$here/build/testdata" ]; then
        cp -R "$here/build/testdata" "$top/testdata"
        chmod -R a+rX "$top/testdata"
    fi
    chmod 1777 "$top/scratch"
    chmod -R a+rX "$root"
}

# The C library looks for locales in LOCPATH first; the server inherits it.
make_locales() {
    [ ${#libc[@]} -gt 0 ] && command -v localedef >/dev/null || return 0
    mkdir "$top/locale" && chmod 755 "$top/locale"
    local name
    for name in "${libc[@]}"; do
        localedef -i "$name" -f UTF-8 "$top/locale/$name.UTF-8" >>"$top/locale.log" 2>&1
    done
    chmod -R a+rX "$top/locale"
    export LOCPATH="$top/locale:/usr/lib/locale"
}

start_server() {
    mkdir "$top/sock" && chmod 777 "$top/sock"
    mkdir -m 700 "$top/data"
    [ "$(id -u)" -ne 0 ] || chown "$server_user" "$top/data" "$top/sock"
    if [ -z "$locale" ]; then
        locale=C
        locale -a 2>/dev/null | grep -qiE '^C\.utf-?8$' && locale=C.UTF-8
    fi
    (cd "$top" && as_server "$bindir/initdb" -D "$top/data" --encoding=UTF8 --locale="$locale" \
        --username=postgres --auth=trust --no-sync) >"$top/initdb.log" 2>&1 ||
        { cat "$top/initdb.log" >&2; die "initdb failed"; }
    {
        echo "listen_addresses = '$address'"
        echo "port = $port"
        echo "unix_socket_directories = '$top/sock'"
        echo "fsync = off"
        echo "full_page_writes = off"
        echo "shared_buffers = 64MB"
        echo "max_connections = 120"
        echo "log_min_messages = warning"
        printf '%s\n' "${conf[@]+"${conf[@]}"}"
    } >>"$top/data/postgresql.conf"
    touch "$top/server.log"
    [ "$(id -u)" -ne 0 ] || chown "$server_user" "$top/server.log"
    (cd "$top" && as_server "$bindir/pg_ctl" -D "$top/data" -w -t 60 -l "$top/server.log" start) \
        >"$top/ctl.log" 2>&1 ||
        { cat "$top/ctl.log" "$top/server.log" >&2; die "server did not start"; }
}

stop_server() {
    [ -f "$top/data/postmaster.pid" ] || return 0
    (cd "$top" && as_server "$bindir/pg_ctl" -D "$top/data" -w -t 30 -m immediate stop) \
        >/dev/null 2>&1
}

environment() {
    export PATH="$bindir:$PATH" AX_PG_BIN="$bindir" AX_SCRATCH="$top/scratch"
    export AX_TESTDATA="$top/testdata" AX_SERVER_USER="$server_user" AX_TOP="$top"
    if [ "$mode" != tree ]; then
        export PGHOST="$top/sock" PGPORT=$port PGUSER=postgres PGDATABASE=postgres
        unset PGSERVICE PGPASSWORD PGOPTIONS PGSSLMODE PGHOSTADDR
    fi
}

clean_up() {
    trap - EXIT INT TERM HUP
    stop_server
    cd / && rm -rf "$top"
}

mode=${1-}
[ $# -gt 0 ] && shift
locale=
install=yes
address=
port=5432
conf=()
libc=()
while [ $# -gt 0 ]; do
    case $1 in
        --locale=*) locale=${1#*=} ;;
        --conf=*) conf+=("${1#*=}") ;;
        --libc=*) libc+=("${1#*=}") ;;
        --no-install) install=no ;;
        --tcp)
            address=127.0.0.1
            port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
            ;;
        --) shift; break ;;
        -*) die "unknown option $1" ;;
        *) break ;;
    esac
    shift
done
choose_user

case $mode in
    exec | tree)
        [ $# -gt 0 ] || die "usage: private-server.sh $mode [options] -- CMD..."
        top=$(cd "$(mktemp -d "${TMPDIR:-/tmp}/afdw.XXXXXX")" && pwd -P) || exit 1
        chmod 755 "$top"
        trap clean_up EXIT
        trap 'exit 130' INT TERM HUP
        make_tree
        make_locales
        [ "$mode" = tree ] || start_server
        environment
        "$@"
        status=$?
        if [ "$mode" = exec ] && grep -qE 'PANIC|terminated by signal' "$top/server.log"; then
            echo "private-server: the server crashed; its log ends with" >&2
            tail -n 40 "$top/server.log" >&2
            [ $status -ne 0 ] || status=1
        fi
        exit $status
        ;;
    start)
        [ $# -eq 1 ] || die "usage: private-server.sh start [options] DIR"
        [ ! -e "$1" ] || die "$1 exists"
        mkdir -p "$1" && top=$(cd "$1" && pwd -P) || exit 1
        chmod 755 "$top"
        trap clean_up EXIT # until it runs
        trap 'exit 130' INT TERM HUP
        make_tree
        [ "$(id -u)" -ne 0 ] || as_server test -x "$top" ||
            die "user $server_user cannot enter $1: make its parents accessible"
        echo "$bindir" >"$top/bindir"
        make_locales
        start_server
        trap - EXIT INT TERM HUP
        environment
        echo "export PGHOST=$PGHOST PGPORT=$PGPORT PGUSER=$PGUSER PGDATABASE=$PGDATABASE"
        echo "export AX_TESTDATA=$AX_TESTDATA PATH=$bindir:\$PATH"
        ;;
    stop)
        [ $# -eq 1 ] && [ -f "$1/bindir" ] || die "usage: private-server.sh stop DIR"
        top=$(cd "$1" && pwd -P)
        bindir=$(cat "$top/bindir")
        stop_server
        rm -rf "$top"
        ;;
    *)
        sed -n '2,15s/^# \{0,1\}//p' "$0"
        exit 2
        ;;
esac
