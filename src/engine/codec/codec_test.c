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

/* Input in bites, output in pieces; the history is kept in front as the door says. */
static ax_status in_pieces(ax_codec codec, size_t n, size_t bite, size_t piece, size_t want)
{
    static uint8_t buf[2 * AX_CDC_HISTORY + N];
    ax_cdc_stream *s;
    size_t in = 0, out = 0;
    const uint8_t *src;

    ax_error_clear(&t.err);
    assert_int_equal(ax_cdc_stream_create(&t, t.arena, &s), AX_OK);
    AX_TRY(ax_cdc_stream_begin(&t, s, codec, want));
    while (out < want)
    {
        size_t hist = out < AX_CDC_HISTORY ? out : AX_CDC_HISTORY, pos = hist, all;
        size_t cap = piece < want - out ? pos + piece : pos + want - out;

        memcpy(buf, back + out - hist, hist);
        all = in + bite < n ? in + bite : n;
        src = packed + in;
        AX_TRY(ax_cdc_stream_run(&t, s, &src, packed + all, buf, &pos, cap));
        assert_true(pos <= cap);
        memcpy(back + out, buf + hist, pos - hist);
        out += pos - hist;
        if ((size_t) (src - packed) == in && pos == hist)
            return ax_fail(&t, AX_ECORRUPT, "no progress");
        in = (size_t) (src - packed);
    }
    return ax_cdc_stream_end(&t, s, packed + in, packed + n);
}

static void pieces_give_the_same(void **state)
{
    static const ax_codec codecs[] = {AX_CDC_SNAPPY, AX_CDC_ZSTD, AX_CDC_GZIP};
    static const size_t bites[] = {1, 7, 100, N}, pieces[] = {1, 13, 1000, 70000, N};

    (void) state;
    for (uint32_t c = 0; c < 3; c++)
    {
        size_t n = pack(codecs[c]);

        assert_true(ax_cdc_streams(codecs[c]));
        for (uint32_t b = 0; b < 4; b++)
            for (uint32_t p = b == 3 ? 0 : 2; p < 5; p++)
            {
                memset(back, 0x55, sizeof back);
                assert_int_equal(in_pieces(codecs[c], n, bites[b], pieces[p], N), AX_OK);
                assert_memory_equal(back, text, N);
            }
        assert_int_equal(in_pieces(codecs[c], n, N, 1000, N - 1), AX_ECORRUPT);
        assert_int_equal(in_pieces(codecs[c], n, N, 1000, N + 1), AX_ECORRUPT);
        assert_int_equal(in_pieces(codecs[c], n - 1, N, 1000, N), AX_ECORRUPT);
    }
    assert_false(ax_cdc_streams(AX_CDC_NONE));
    assert_false(ax_cdc_streams(AX_CDC_LZ4_HADOOP));
}

/* Copies of every length and distance, and one that reaches farther than the history. */
static void snappy_copies(void **state)
{
    static const uint8_t far[] = {0xb0, 0xf5, 0x04, /* 80560 */
                                  0xf8, 0x9f, 0x38, 0x01, /* literal of 80032 */ };
    size_t n = sizeof far;

    (void) state;
    for (uint32_t off = 1; off < 70; off++)
    {
        uint8_t want[256], lit = 100;

        n = 0;
        packed[n++] = (uint8_t) ((lit + 64) & 127) | 0x80;
        packed[n++] = (lit + 64) >> 7;
        packed[n++] = 60 << 2;
        packed[n++] = lit - 1;
        memcpy(packed + n, text, lit);
        n += lit;
        packed[n++] = 63 << 2 | 2;
        packed[n++] = (uint8_t) off;
        packed[n++] = 0;
        memcpy(want, text, lit);
        for (uint32_t i = lit; i < lit + 64u; i++)
            want[i] = want[i - off];
        memset(packed + n, 0, 100); /* so that the fast loop runs */
        for (size_t piece = 1; piece < 200; piece += 33)
        {
            memset(back, 0, sizeof back);
            assert_int_equal(in_pieces(AX_CDC_SNAPPY, n, 50, piece, lit + 64u), AX_OK);
            assert_memory_equal(back, want, lit + 64u);
        }
    }
    n = sizeof far;
    memcpy(packed, far, n);
    memcpy(packed + n, text, 80032);
    n += 80032;
    packed[n++] = 63 << 2 | 3;
    memcpy(packed + n, (uint8_t[]){0xa0, 0x38, 0x01, 0}, 4);
    n += 4;
    for (uint32_t i = 0; i < 464; i += 58, n += 59)
    {
        packed[n] = 57 << 2;
        memcpy(packed + n + 1, text, 58);
    }
    assert_int_equal(in_pieces(AX_CDC_SNAPPY, n, N, 1000, 80560), AX_EUNSUPPORTED);
    assert_int_equal(unpack(AX_CDC_SNAPPY, n, 80560), AX_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips_and_sizes),
        cmocka_unit_test(garbage_is_refused),
        cmocka_unit_test(pieces_give_the_same),
        cmocka_unit_test(snappy_copies),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
