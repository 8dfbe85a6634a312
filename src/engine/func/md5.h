/* The MD5 digest, for md5() of texts and bytes: what PostgreSQL prints. */
#ifndef AX_MD5_H
#define AX_MD5_H

#include <stddef.h>
#include <stdint.h>

enum { AX_MD5_HEX = 32 };

/* The digest of p[n] as AX_MD5_HEX digits, not terminated.  Thread: any. */
void ax_md5_hex(const uint8_t *p, size_t n, uint8_t *out);

#endif
