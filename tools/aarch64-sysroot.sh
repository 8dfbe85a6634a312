#!/bin/bash
# aarch64-sysroot.sh DIR: unpack the arm64 libraries that the engine and its tests link with into
# DIR, without installing anything: apt gets a state of its own, so neither root nor a second
# architecture in dpkg is needed. The compiler and the emulator come from the distribution
# (gcc-aarch64-linux-gnu, qemu-user). Does nothing when DIR is there.
set -eu
dir=$1
[ ! -f "$dir/.done" ] || exit 0
for tool in aarch64-linux-gnu-gcc qemu-aarch64 dpkg-deb apt-get; do
    command -v $tool >/dev/null || {
        echo "aarch64: no $tool; install gcc-aarch64-linux-gnu and qemu-user" >&2
        exit 1
    }
done
mkdir -p "$dir"
dir=$(cd "$dir" && pwd -P)
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
mkdir -p "$state/lists/partial" "$state/archives/partial" "$state/debs"
touch "$state/status"
chmod -R a+rwX "$state"
apt() {
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 \
        -o Dir::State="$state" -o Dir::State::status="$state/status" \
        -o Dir::State::lists="$state/lists" -o Dir::Cache="$state" \
        -o Dir::Cache::archives="$state/archives" -o APT::Sandbox::User=root "$@"
}
apt update >"$state/log" 2>&1 || { cat "$state/log" >&2; exit 1; }
# Binary packages differ by release in the version in their names; take what each -dev depends on.
dev="libzstd-dev libsnappy-dev zlib1g-dev liblz4-dev libbrotli-dev libcmocka-dev"
apt install -y --download-only --no-install-recommends $dev >"$state/log" 2>&1 ||
    { cat "$state/log" >&2; exit 1; }
for deb in "$state"/archives/*.deb; do
    case ${deb##*/} in
        # The C run-time is the cross compiler's own.
        libc6* | libcrypt* | linux-libc* | libnsl* | libtirpc* | rpcsvc*) ;;
        *) dpkg-deb -x "$deb" "$dir" ;;
    esac
done
# Debian with split /usr: some libraries still live in /lib.
if [ -d "$dir/lib/aarch64-linux-gnu" ]; then
    cp -a "$dir"/lib/aarch64-linux-gnu/. "$dir/usr/lib/aarch64-linux-gnu/"
fi
touch "$dir/.done"
