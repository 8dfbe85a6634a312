/* Kernels against what the machine or the library gives: a Markdown row for each.
 *
 *   roofline [megabytes, default 256]
 *
 * One thread, CPU time, best of five; inputs are larger than the caches unless the row says L1.
 * "bound" is the read bandwidth of one core, measured first, or the library called directly;
 * "goal" is what the project asks for. */
#include "bench.h"

#include "base/cpu.h"
#include "codec/codec.h"

#include <lz4.h>
#include <snappy-c.h>
#include <zstd.h>

enum { ROUNDS = 5, PAGE = 1 << 20 };

static double read_gbs; /* GB/s */

static void *room(size_t n)
{
    void *p = ax_slab_alloc(&budget, n + AX_PAD, false);

    if (p == NULL)
        exit(1);
    memset(p, 1, n + AX_PAD);
    return p;
}

static void bench_memory(size_t bytes)
{
    uint64_t *p = (uint64_t *) room(bytes), sum = 0;
    double best = 1e18, t;

    for (int r = 0; r < ROUNDS; r++)
    {
        uint64_t s[8] = {0};

        t = now_ns();
        for (size_t i = 0; i < bytes / 8; i += 8)
            for (int k = 0; k < 8; k++)
                s[k] += p[i + k];
        t = now_ns() - t;
        for (int k = 0; k < 8; k++)
            sum += s[k];
        best = t < best ? t : best;
    }
    read_gbs = (double) bytes / best;
    printf("| reading memory | %.2f GB/s | - | - | - |\n", read_gbs);
    if (sum == 1)
        printf("\n");
    ax_slab_free(&budget, p, bytes + AX_PAD);
}

/* ---- filters --------------------------------------------------------------------------------- */

static void bench_int_filter(size_t bytes, const char *what, double goal)
{
    size_t n = bytes / 4;
    int32_t *x = (int32_t *) room(bytes);
    ax_value konst = {.type = ax_type_make(AX_T_INT4), .u.i = 1000000000};
    filter f = make_filter(konst.type, AX_FN_GT, &konst);
    int loops = bytes < (1 << 20) ? 20000 : 1;
    double best = 1e18, t;

    for (size_t i = 0; i < n; i++)
        x[i] = (int32_t) (rng = rng * 6364136223846793005ull + 1442695040888963407ull) & INT32_MAX;
    for (int r = 0; r < ROUNDS; r++)
    {
        t = now_ns();
        for (int l = 0; l < loops; l++)
            for (size_t at = 0; at + AX_BATCH_ROWS <= n; at += AX_BATCH_ROWS)
            {
                ax_vec v = {.kind = AX_VK_FLAT, .type = konst.type, .n = AX_BATCH_ROWS};

                v.u.data = x + at;
                filter_step(&f, &v);
            }
        t = (now_ns() - t) / loops;
        best = t < best ? t : best;
    }
    table_row(what, (double) n / best, "G rows/s", "memory", read_gbs / 4, goal, false);
    ax_arena_destroy(f.a);
    ax_slab_free(&budget, x, bytes + AX_PAD);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* A page body as PLAIN has it: lengths and strings that look like URLs of 70 bytes on average.
 * off, len: one for each string, room for PAGE / 16. */
static uint32_t make_page(uint8_t *page, uint32_t *off, uint32_t *len)
{
    uint32_t n = 0, at = 0;

    while (at + 256 < PAGE)
    {
        off[n] = at + 4;
        len[n] = put_url(page + off[n], 20 + rnd(90), 20000);
        memcpy(page + at, &len[n], 4);
        at = off[n] + len[n];
        n++;
    }
    memset(page + at, 0, PAGE - at);
    return n;
}

static void bench_like(size_t bytes, const char *what, const char *pattern, double goal)
{
    uint32_t pages = (uint32_t) (bytes / PAGE), strings = 0;
    uint8_t *p = (uint8_t *) room(bytes);
    uint32_t *off = (uint32_t *) room((size_t) pages * (PAGE / 2)), *len = off + pages * (PAGE / 16);
    uint32_t *n = (uint32_t *) room(pages * 4);
    ax_value konst = {.type = ax_type_make(AX_T_TEXT)};
    double best = 1e18, t;
    filter f;

    konst.u.s.p = (const uint8_t *) pattern;
    konst.u.s.len = (uint32_t) strlen(pattern);
    f = make_filter(konst.type, AX_FN_LIKE, &konst);
    for (uint32_t i = 0; i < pages; i++)
        strings += n[i] = make_page(p + (size_t) i * PAGE, off + i * (PAGE / 16), len + i * (PAGE / 16));
    for (int r = 0; r < ROUNDS; r++)
    {
        t = now_ns();
        for (uint32_t i = 0; i < pages; i++)
            for (uint32_t at = 0; at < n[i]; at += AX_BATCH_ROWS)
            {
                ax_vec v = {.kind = AX_VK_FLAT, .type = konst.type};

                v.n = n[i] - at < AX_BATCH_ROWS ? n[i] - at : AX_BATCH_ROWS;
                v.u.str.base = p + (size_t) i * PAGE;
                v.u.str.off = off + i * (PAGE / 16) + at;
                v.u.str.len = len + i * (PAGE / 16) + at;
                filter_step(&f, &v);
            }
        t = now_ns() - t;
        best = t < best ? t : best;
    }
    table_row(what, (double) bytes / best, "GB/s", "memory", read_gbs, goal, false);
    ax_arena_destroy(f.a);
    ax_slab_free(&budget, n, pages * 4 + AX_PAD);
    ax_slab_free(&budget, off, (size_t) pages * (PAGE / 2) + AX_PAD);
    ax_slab_free(&budget, p, bytes + AX_PAD);
}

/* ---- codecs ---------------------------------------------------------------------------------- */

static ZSTD_DCtx *zstd;

static size_t compress(ax_codec codec, const uint8_t *src, uint8_t *dst, size_t dst_room)
{
    size_t n = dst_room;

    if (codec == AX_CDC_ZSTD)
        return ZSTD_compress(dst, dst_room, src, PAGE, 3);
    if (codec == AX_CDC_LZ4_RAW)
        return (size_t) LZ4_compress_default((const char *) src, (char *) dst, PAGE, (int) dst_room);
    return snappy_compress((const char *) src, PAGE, (char *) dst, &n) == SNAPPY_OK ? n : 0;
}

static bool library(ax_codec codec, const uint8_t *src, size_t n, uint8_t *dst)
{
    size_t out = PAGE;

    if (codec == AX_CDC_ZSTD)
        return ZSTD_decompressDCtx(zstd, dst, PAGE, src, n) == PAGE;
    if (codec == AX_CDC_LZ4_RAW)
        return LZ4_decompress_safe((const char *) src, (char *) dst, (int) n, PAGE) == PAGE;
    return snappy_uncompress((const char *) src, n, (char *) dst, &out) == SNAPPY_OK && out == PAGE;
}

static void bench_codec(ax_codec codec, const char *what)
{
    enum { PAGES = 32, BOUND = PAGE + PAGE / 4 };
    uint8_t *raw = (uint8_t *) room(PAGE), *packed = (uint8_t *) room(PAGES * BOUND);
    uint32_t *off = (uint32_t *) room(PAGE / 2);
    uint8_t *out = (uint8_t *) room(PAGE);
    size_t len[PAGES];
    double ours = 1e18, theirs = 1e18, t;
    ax_cdc *c;

    must(ax_cdc_create(&task, task.arena, &c));
    for (int i = 0; i < PAGES; i++)
    {
        make_page(raw, off, off + PAGE / 16);
        len[i] = compress(codec, raw, packed + (size_t) i * BOUND, BOUND);
    }
    for (int r = 0; r < ROUNDS; r++)
    {
        t = now_ns();
        for (int i = 0; i < PAGES; i++)
            must(ax_cdc_decompress(&task, c, codec, packed + (size_t) i * BOUND, len[i], out, PAGE));
        t = now_ns() - t;
        ours = t < ours ? t : ours;
        t = now_ns();
        for (int i = 0; i < PAGES; i++)
            if (!library(codec, packed + (size_t) i * BOUND, len[i], out))
                exit(1);
        t = now_ns() - t;
        theirs = t < theirs ? t : theirs;
    }
    table_row(what, (double) PAGES * PAGE / ours, "GB/s", "library", (double) PAGES * PAGE / theirs, 0, false);
    ax_slab_free(&budget, out, PAGE + AX_PAD);
    ax_slab_free(&budget, off, PAGE / 2 + AX_PAD);
    ax_slab_free(&budget, packed, PAGES * BOUND + AX_PAD);
    ax_slab_free(&budget, raw, PAGE + AX_PAD);
}

int main(int argc, char **argv)
{
    size_t bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 256) << 20;

    bench_begin();
    zstd = ZSTD_createDCtx();
    printf("level %s, %zu MB\n\n", ax_cpu_name(ax_cpu_get()), bytes >> 20);
    table_head();
    bench_memory(bytes);
    bench_int_filter(bytes, "int4 > constant", 5);
    bench_int_filter(65536, "int4 > constant, L1", 0);
    bench_like(bytes, "LIKE '%google%', URLs of 70 bytes, 1 in 1000 matches", "%google%", 5);
    bench_like(bytes, "LIKE '%yandex%', no match", "%yandex%", 5);
    bench_like(bytes, "LIKE '%ab%', no match", "%ab%", 5);
    bench_codec(AX_CDC_SNAPPY, "snappy, URLs, pages of 1 MB");
    bench_codec(AX_CDC_ZSTD, "zstd");
    bench_codec(AX_CDC_LZ4_RAW, "lz4");
    ZSTD_freeDCtx(zstd);
    ax_task_fini(&task);
    return 0;
}
