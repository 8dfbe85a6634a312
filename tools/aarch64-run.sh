#!/bin/sh
# aarch64-run.sh SYSROOT PROGRAM [ARG...]: run an arm64 program under the emulator.
sysroot=$1
shift
exec qemu-aarch64 -L /usr/aarch64-linux-gnu \
    -E "LD_LIBRARY_PATH=$sysroot/usr/lib/aarch64-linux-gnu:/usr/aarch64-linux-gnu/lib" "$@"
