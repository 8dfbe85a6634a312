#!/bin/bash
# setup.sh demo|check: install with apt what the build and the tests need and what is missing.
#
# Works as root on Debian 12, 13 and current Ubuntu; otherwise it prints the package names and
# fails. When nothing is missing it does nothing and needs no network.
#   demo    build and run the extension
#   check   also all test tools: clang with its sanitizer run-time, pgtap, TAP modules, and the
#           client libraries whose suites `make drivers` runs
set -u
cd "$(dirname "$0")/.." || exit 1
level=${1:-demo}
PG_CONFIG=${PG_CONFIG:-pg_config}

missing=()
# need PACKAGE TEST...: remember the package unless the test command succeeds.
need() {
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$package")
}
tool() { command -v "$1"; }
headers() { printf '#include <%s>\n' "$@" | cc -E -x c -; }
perl_module() { perl -M"$1" -e 1; }
server() { [ -x "$("$PG_CONFIG" --bindir)/initdb" ]; }
server_dev() { [ -f "$("$PG_CONFIG" --pgxs)" ]; }
clang_runtime() {
    [ -n "$(find "$(clang -print-resource-dir)" -name 'libclang_rt.fuzzer*' -print -quit)" ]
}
# The file that decides is the one of the server in use, not of any version.
pgtap() { [ -f "$("$PG_CONFIG" --sharedir)/extension/pgtap.control" ]; }

psycopg() { python3 -c 'import psycopg' || /usr/bin/python3 -c 'import psycopg'; }
node_pg() { NODE_PATH=build/drivers/node_modules:/usr/share/nodejs node -e 'require("pg")'; }

# Client libraries. Not every distribution has each; `make drivers` names those that are not there.
# Debian's node-pg wants Debian's Node.js; beside another one the package manager of that is asked.
install_drivers() {
    local packages=()
    psycopg >/dev/null 2>&1 || packages+=(python3-psycopg)
    [ -e /usr/share/java/postgresql.jar ] || packages+=(libpostgresql-jdbc-java)
    tool javac >/dev/null || packages+=(default-jdk-headless)
    tool node >/dev/null || packages+=(node-pg)
    for package in "${packages[@]}"; do
        apt-get -q -y -o DPkg::Lock::Timeout=600 install --no-install-recommends "$package" ||
            echo "setup: there is no package $package here" >&2
    done
    if ! node_pg >/dev/null 2>&1 && tool npm >/dev/null; then
        mkdir -p build/drivers
        npm install --silent --no-fund --no-audit --prefix build/drivers pg
    fi
}

# The distribution's PostgreSQL version, for packages that carry it in their names.
pg_version() {
    if server_dev; then
        "$PG_CONFIG" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/'
    else
        apt-cache depends postgresql 2>/dev/null |
            sed -n 's/.*Depends: postgresql-\([0-9][0-9]*\)$/\1/p' | head -n 1
    fi
}

collect() {
    missing=()
    need build-essential tool cc
    need build-essential tool make
    need pkg-config tool pkg-config
    need python3 tool python3
    need libzstd-dev headers zstd.h
    need zlib1g-dev headers zlib.h
    need liblz4-dev headers lz4.h
    need libbrotli-dev headers brotli/decode.h
    # The server's pg_locale.h includes it.
    need libicu-dev headers unicode/ucol.h
    need "postgresql-server-dev-@" server_dev
    need "postgresql-@" server
    need util-linux tool setpriv
    if [ "$level" = check ]; then
        # Our decoder is compared with it.
        need libsnappy-dev headers snappy-c.h
        # cmocka.h wants these three before it.
        need libcmocka-dev headers stdarg.h stddef.h setjmp.h stdint.h cmocka.h
        need clang tool clang
        need libclang-rt-dev clang_runtime
        need "postgresql-@-pgtap" pgtap
        need libipc-run-perl perl_module IPC::Run
        need perl tool prove
        need binutils tool nm
    fi
}

case $level in
    demo | check) ;;
    *) echo "usage: setup.sh demo|check" >&2; exit 2 ;;
esac

collect
if [ ${#missing[@]} -eq 0 ]; then
    if [ "$level" = check ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
        install_drivers
    fi
    exit 0
fi

if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
    version=$(pg_version)
    echo "missing; install as root (names of Debian and Ubuntu):" >&2
    printf '  %s\n' "${missing[@]//@/${version:-15}}" | sort -u >&2
    exit 1
fi

export DEBIAN_FRONTEND=noninteractive
apt-get -q -o DPkg::Lock::Timeout=600 update || exit 1
version=$(pg_version)
[ -n "$version" ] || { echo "setup: this distribution offers no PostgreSQL" >&2; exit 1; }
packages=()
for package in "${missing[@]}"; do
    package=${package//@/$version}
    # clang's run-time has a package of its own since clang 14, named by version in Debian 12.
    if [ "$package" = libclang-rt-dev ] && ! apt-cache show "$package" >/dev/null 2>&1; then
        major=$(apt-cache depends clang |
            sed -n 's/.*Depends: clang-\([0-9][0-9]*\)$/\1/p' | head -n 1)
        package=libclang-rt-$major-dev
        apt-cache show "$package" >/dev/null 2>&1 || package=libclang-common-$major-dev
    fi
    packages+=("$package")
done
# No cluster is wanted: the tests and the demo make their own.
mkdir -p /etc/postgresql-common/createcluster.d
created=/etc/postgresql-common/createcluster.d/analytics_fdw_setup.conf
[ -d /etc/postgresql ] || echo 'create_main_cluster = false' >"$created"
mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)
apt-get -q -y -o DPkg::Lock::Timeout=600 install --no-install-recommends "${packages[@]}"
status=$?
rm -f "$created"
[ $status -eq 0 ] || exit $status
collect
[ ${#missing[@]} -eq 0 ] || { echo "setup: still missing: ${missing[*]//@/$version}" >&2; exit 1; }
[ "$level" != check ] || install_drivers
exit 0
