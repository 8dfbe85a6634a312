"""Takes files out of the operating system's page cache, for cold runs.

What works without privileges is tried first and what it did is looked at afterwards (mincore), so a
cold time is never one of cached data. Where the kernel keeps the pages, a fresh copy stands in.
"""
import ctypes
import os
import shutil

PAGE = os.sysconf("SC_PAGE_SIZE")


def resident(path):
    """The share of a file's pages that the page cache holds."""
    n = os.path.getsize(path)
    if n == 0:
        return 0.0
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    fd = os.open(path, os.O_RDONLY)
    try:
        at = libc.mmap(None, n, 1, 1, fd, 0)  # PROT_READ, MAP_SHARED
        if at in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "mmap")
        pages = (ctypes.c_ubyte * (-(-n // PAGE)))()
        bad = libc.mincore(at, n, pages)
        libc.munmap(at, n)
        if bad:
            raise OSError(ctypes.get_errno(), "mincore")
        return sum(b & 1 for b in bytes(pages)) / len(pages)
    finally:
        os.close(fd)


def forget(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def drop(paths):
    """Drops the files from the cache; tells how: 'advised', 'dropped' (all files of the machine) or
    'copied' (each file replaced by a copy that the kernel has not read)."""
    for p in paths:
        forget(p)
    if max(map(resident, paths)) < 0.01:
        return "advised"
    try:
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
            f.write("1")
    except OSError:
        pass
    if max(map(resident, paths)) < 0.01:
        return "dropped"
    for p in paths:
        fresh = p + ".fresh"
        shutil.copyfile(p, fresh)
        forget(fresh)
        os.replace(fresh, p)
    left = max(map(resident, paths))
    if left >= 0.01:
        raise RuntimeError(f"{left:.0%} of a file stay in the page cache")
    return "copied"
