/* What the files of the memory module share: poisoning for AddressSanitizer, and chunks. */
#ifndef AX_MEMORY_INT_H
#define AX_MEMORY_INT_H

#include "base/memory.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define AX_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define AX_ASAN 1
#endif

#ifdef AX_ASAN
#include <sanitizer/asan_interface.h>
#define AX_POISON(p, n) ASAN_POISON_MEMORY_REGION((p), (n))
#define AX_UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#else
#define AX_POISON(p, n) ((void) (p), (void) (n))
#define AX_UNPOISON(p, n) ((void) (p), (void) (n))
#endif

static inline size_t ax_round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

/* Anything of 1 byte up to SIZE_MAX / 2, AX_ALIGN aligned, content undefined, not charged.  From
 * the C library, from a chunk of a slab, or a slab of its own, by size; ax_raw_size gives the
 * bytes that are really taken, which is what callers charge.  ax_raw_free takes the same n. */
size_t ax_raw_size(size_t n);
void *ax_raw_alloc(size_t n);
void ax_raw_free(void *p, size_t n);

/* Slabs without an account. */
void *ax_slab_take(size_t bytes, bool zero);
void ax_slab_give(void *p, size_t bytes);

#endif
