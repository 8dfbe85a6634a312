/* Codecs: what the libraries pack comes back; a wrong declared size is refused; several members. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/codec.h"

#include <lz4.h>
#include <snappy-c.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { N = 100000 };

static ax_budget budget;
static ax_task t;
static ax_cdc *cdc;
static uint8_t text[N], packed[2 * N], back[N + 64];

static int set_up(void **state)
{
    uint32_t i;

    (void) state;
    for (i = 0; i < N; i++)
        text[i] = (uint8_t) ("abcdefgh"[i / 7 % 8] + i / 1000 % 3);
    ax_budget_init(&budget, "test", 64 << 20, NULL);
    return ax_task_init(&t, &budget, NULL) != AX_OK ||
           ax_cdc_create(&t, t.arena, &cdc) != AX_OK;
}

static int tear_down(void **state)
{
    (void) state;
    ax_task_fini(&t);
    return atomic_load(&budget.used_bytes) != 0;
}

/* One gzip member of p[n] behind what is in packed already. */
static size_t gzip_member(size_t at, const uint8_t *p, size_t n)
{
    z_stream z = {0};

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *) (uintptr_t) p;
    z.avail_in = (uInt) n;
    z.next_out = packed + at;
    z.avail_out = (uInt) (sizeof packed - at);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    at += z.total_out;
    deflateEnd(&z);
    return at;
}

static size_t pack(ax_codec codec)
{
    size_t n = sizeof packed;

    switch (codec)
    {
        case AX_CDC_SNAPPY:
            assert_int_equal(snappy_compress((const char *) text, N, (char *) packed, &n),
                             SNAPPY_OK);
            return n;
        case AX_CDC_ZSTD:
            return ZSTD_compress(packed, sizeof packed, text, N, 3);
        case AX_CDC_GZIP:
            return gzip_member(gzip_member(0, text, N / 2), text + N / 2, N / 2);
        case AX_CDC_LZ4_RAW:
            return (size_t) LZ4_compress_default((const char *) text, (char *) packed, N,
                                                 sizeof packed);
        case AX_CDC_LZ4_HADOOP:
            n = (size_t) LZ4_compress_default((const char *) text, (char *) packed + 8, N,
                                              sizeof packed - 8);
            memcpy(packed, (uint8_t[]){0, N >> 16, (uint8_t) (N >> 8), (uint8_t) N, 0,
                                       (uint8_t) (n >> 16), (uint8_t) (n >> 8), (uint8_t) n}, 8);
            return n + 8;
        default:
            memcpy(packed, text, N);
            return N;
    }
}

static ax_status unpack(ax_codec codec, size_t n, size_t want)
{
    ax_error_clear(&t.err);
    memset(back, 0x55, sizeof back);
    return ax_cdc_decompress(&t, cdc, codec, packed, n, back, want);
}

static void round_trips_and_sizes(void **state)
{
    ax_codec codec;

    (void) state;
    for (codec = AX_CDC_NONE; codec < AX_CDC_BROTLI; codec++)
    {
        size_t n = pack(codec);
        int twice;

        for (twice = 0; twice < 2; twice++) /* contexts are used again */
        {
            assert_int_equal(unpack(codec, n, N), AX_OK);
            assert_memory_equal(back, text, N);
            assert_int_equal(back[N], 0x55);
        }
        assert_int_equal(unpack(codec, n, N - 1), AX_ECORRUPT);
        assert_int_equal(back[N - 1], 0x55);
        assert_int_equal(unpack(codec, n, N + 1), AX_ECORRUPT);
        assert_int_equal(back[N + 1], 0x55);
        assert_int_equal(unpack(codec, n - 1, N), AX_ECORRUPT);
        assert_int_equal(unpack(codec, n, N), AX_OK);
    }
}

static void garbage_is_refused(void **state)
{
    ax_codec codec;

    (void) state;
    memset(packed, 0xee, 1000);
    for (codec = AX_CDC_SNAPPY; codec < AX_CDC_CNT; codec++)
    {
        assert_int_equal(unpack(codec, 1000, 5000), AX_ECORRUPT);
        assert_int_equal(unpack(codec, 0, 10), AX_ECORRUPT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips_and_sizes),
        cmocka_unit_test(garbage_is_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
