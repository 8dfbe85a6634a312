/* Strings that do not stand in the file as they are wanted: text with bytes that PostgreSQL does
 * not accept, under an encoding_check that mends it (ax_fmt_mend); UUIDs, addresses, bytes as hex
 * digits, and numbers of any length, as text. */
#include "parquet_int.h"

#include "func/func.h"

#include <arpa/inet.h>

static uint32_t hex_text(const uint8_t *p, uint32_t n, uint8_t *out)
{
    static const char digit[] = "0123456789abcdef";

    for (uint32_t i = 0; i < n; i++)
    {
        out[2 * i] = (uint8_t) digit[p[i] >> 4];
        out[2 * i + 1] = (uint8_t) digit[p[i] & 15];
    }
    return 2 * n;
}

static void uuid_text(const uint8_t *p, uint8_t *out)
{
    for (uint32_t i = 0; i < 16; i++)
    {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *out++ = '-';
        out += hex_text(p + i, 1, out);
    }
}

/* Bytes that are no address become what the server's input function refuses, in their row. */
static uint32_t inet_text(const uint8_t *p, uint32_t n, uint8_t *out)
{
    char buf[INET6_ADDRSTRLEN];
    uint32_t len;

    if (n != 4 && n != 16)
    {
        memcpy(out, "\\x", 2);
        return 2 + hex_text(p, n, out + 2);
    }
    (void) inet_ntop(n == 4 ? AF_INET : AF_INET6, p, buf, sizeof buf);
    len = (uint32_t) strlen(buf);
    memcpy(out, buf, len);
    return len;
}

/* The most bytes that n become. */
static uint64_t room(const ax_pq_conv *c, uint32_t n)
{
    switch (c->rewrite)
    {
        case REWRITE_UUID: return 36;
        case REWRITE_HEX: return 2 * (uint64_t) n;
        case REWRITE_INET: return 2 * (uint64_t) n + INET6_ADDRSTRLEN;
        default: return 3 * (uint64_t) n;
    }
}

static uint32_t rewrite_one(const ax_pq_conv *c, const uint8_t *p, uint32_t n, uint8_t *out)
{
    switch (c->rewrite)
    {
        case REWRITE_UUID: uuid_text(p, out); return 36;
        case REWRITE_HEX: return hex_text(p, n, out);
        case REWRITE_INET: return inet_text(p, n, out);
        default: return ax_fmt_mend((ax_encoding_check) c->mend, p, n, out);
    }
}

static ax_status decimals(ax_task *t, ax_arena *a, const ax_pq_conv *c, uint32_t *off,
                          uint32_t *len, uint32_t n, const uint8_t **base)
{
    int32_t scale = c->leaf->lt.scale;
    size_t size = ax_digits_room(scale), cap = 0, at = 0;
    uint8_t *out = NULL;
    char *buf;
    uint32_t i;

    AX_NEW(t, buf, (char *) ax_arena_alloc(t->arena, size));
    for (i = 0; i < n; i++)
    {
        const char *s = ax_digits_text(*base + off[i], len[i], scale, buf, size);
        size_t k;

        AX_CHECK(t, i % 64 != 0 || !ax_task_stopped(t), AX_ESTOPPED, "query stopped");
        AX_CHECK(t, s != NULL, AX_ELIMIT, "decimal of %u bytes is longer than the limit", len[i]);
        k = (size_t) (buf + size - s);
        if (at + k > cap)
        {
            uint8_t *more;

            cap = (at + k) * 2 + 1024;
            AX_CHECK(t, cap <= INT32_MAX, AX_ELIMIT,
                     "strings of one batch are longer than the limit");
            AX_NEW(t, more, (uint8_t *) ax_arena_values(a, cap));
            if (at > 0)
                memcpy(more, out, at);
            out = more;
        }
        memcpy(out + at, s, k);
        off[i] = (uint32_t) at;
        len[i] = (uint32_t) k;
        at += k;
    }
    *base = out != NULL ? out : (const uint8_t *) "";
    return AX_OK;
}

ax_status ax_pq_rewrite(ax_task *t, ax_arena *a, const ax_pq_conv *c, uint32_t *off, uint32_t *len,
                        uint32_t n, const uint8_t **base)
{
    uint64_t total = 0;
    uint32_t at = 0, i;
    uint8_t *out;

    if (c->rewrite == REWRITE_DECIMAL)
        return decimals(t, a, c, off, len, n, base);
    for (i = 0; i < n; i++)
        total += room(c, len[i]);
    AX_CHECK(t, total <= INT32_MAX, AX_ELIMIT, "strings of one batch are longer than the limit");
    AX_NEW(t, out, (uint8_t *) ax_arena_values(a, (size_t) total + 1));
    for (i = 0; i < n; i++)
    {
        len[i] = rewrite_one(c, *base + off[i], len[i], out + at);
        off[i] = at;
        at += len[i];
    }
    *base = out;
    return AX_OK;
}

ax_status ax_pq_rewrite_ints(ax_task *t, ax_arena *a, const ax_pq_conv *c, const uint8_t *phys,
                             uint32_t n, uint32_t *off, uint32_t *len, const uint8_t **base)
{
    enum { BYTES = 9 }; /* one more for the sign of unsigned ones */
    uint8_t *out;

    AX_NEW(t, out, (uint8_t *) ax_arena_alloc(t->arena, (size_t) n * BYTES + 1));
    for (uint32_t i = 0; i < n; i++)
    {
        const uint8_t *p = phys + (size_t) i * c->src_width;
        bool wide = c->src == SRC_I64 || c->src == SRC_U64;
        uint64_t v = wide ? ax_load_u64(p) : ax_load_u32(p);

        if (c->src == SRC_I32)
            v = (uint64_t) (int64_t) (int32_t) v;
        off[i] = i * BYTES;
        len[i] = BYTES;
        out[off[i]] = c->src != SRC_U64 && (int64_t) v < 0 ? 0xff : 0;
        for (int k = 0; k < 8; k++)
            out[off[i] + 1 + (uint32_t) k] = (uint8_t) (v >> (56 - 8 * k));
    }
    *base = out;
    return decimals(t, a, c, off, len, n, base);
}
