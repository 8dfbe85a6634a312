/* Thrift, hybrid runs and delta streams: edges, and round trips at every width. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "encode_test.h"

static enc e; /* with AX_PAD bytes and more behind what is written */

static void begin(void) { memset(&e, 0, sizeof e); }

/* ---- thrift ---------------------------------------------------------------------------------- */

static void thrift_short_and_long_ids(void **state)
{
    ax_pq_fld f = {0, 0};
    int64_t v = 0;
    ax_cur c;

    (void) state;
    begin();
    e_u8(&e, 3 << 4 | TH_I32); /* id 3 */
    e_zigzag(&e, -7);
    e_field(&e, -2, TH_I64); /* ids may go back */
    e_zigzag(&e, INT64_MIN);
    e_u8(&e, 0);
    c = ax_cur_make(e.p, e.n);
    assert_true(ax_pq_th_next(&c, &f) && f.id == 3);
    assert_true(ax_pq_th_i64(&c, f.type, &v) && v == -7);
    assert_true(ax_pq_th_next(&c, &f) && f.id == -2);
    assert_true(ax_pq_th_i64(&c, f.type, &v) && v == INT64_MIN);
    assert_false(ax_pq_th_next(&c, &f));
    assert_false(c.bad);
}

static void thrift_wrong_type_is_absent(void **state)
{
    ax_pq_fld f = {0, 0};
    int32_t v = 42;
    ax_cur c;

    (void) state;
    begin();
    e_bin(&e, 1, "abc", 3);
    e_int(&e, 2, 1ll << 40); /* does not fit */
    e_int(&e, 3, 5);
    e_u8(&e, 0);
    c = ax_cur_make(e.p, e.n);
    assert_true(ax_pq_th_next(&c, &f));
    assert_false(ax_pq_th_i32(&c, f.type, &v));
    assert_true(ax_pq_th_next(&c, &f));
    assert_false(ax_pq_th_i32(&c, f.type, &v));
    assert_int_equal(v, 42);
    assert_true(ax_pq_th_next(&c, &f));
    assert_true(ax_pq_th_i32(&c, f.type, &v) && v == 5);
}

static void thrift_skips_everything(void **state)
{
    ax_pq_fld f = {0, 0};
    ax_cur c;
    int i;

    (void) state;
    begin();
    e_list(&e, 1, TH_TRUE, 3); /* booleans in lists take a byte each */
    e_bytes(&e, "\1\2\0", 3);
    e_field(&e, 2, TH_MAP);
    e_varint(&e, 2);
    e_u8(&e, TH_BINARY << 4 | TH_DOUBLE);
    for (i = 0; i < 2; i++)
    {
        e_varint(&e, 1);
        e_u8(&e, 'k');
        e_u64(&e, 0);
    }
    e_field(&e, 3, TH_STRUCT);
    e_field(&e, 1, TH_TRUE);
    e_field(&e, 2, TH_UUID);
    e_u64(&e, 1);
    e_u64(&e, 2);
    e_u8(&e, 0);
    e_field(&e, 4, TH_MAP); /* empty maps have no types */
    e_varint(&e, 0);
    e_field(&e, 32767, TH_BINARY);
    e_varint(&e, 0);
    e_u8(&e, 0);
    c = ax_cur_make(e.p, e.n);
    ax_pq_th_skip(&c, TH_STRUCT);
    assert_false(c.bad);
    assert_int_equal(ax_cur_left(&c), 0);
    (void) f;
}

static void thrift_refuses(void **state)
{
    ax_pq_fld f = {0, 0};
    uint32_t n;
    uint8_t elem;
    ax_cur c;
    int i;

    (void) state;
    begin(); /* nested too deep */
    for (i = 0; i < 200; i++)
        e_field(&e, 1, TH_STRUCT);
    c = ax_cur_make(e.p, sizeof e.p);
    ax_pq_th_skip(&c, TH_STRUCT);
    assert_true(c.bad);

    begin(); /* more elements than bytes */
    e_list(&e, 1, TH_STRUCT, 1u << 30);
    c = ax_cur_make(e.p, e.n);
    assert_true(ax_pq_th_next(&c, &f));
    assert_false(ax_pq_th_list(&c, f.type, &elem, &n));
    assert_true(c.bad);

    begin(); /* a varint without end */
    for (i = 0; i < 12; i++)
        e_u8(&e, 0xff);
    c = ax_cur_make(e.p, e.n);
    ax_pq_th_skip(&c, TH_I64);
    assert_true(c.bad);

    begin(); /* a wire type that does not exist */
    e_field(&e, 1, 14);
    c = ax_cur_make(e.p, e.n);
    f = (ax_pq_fld){0, 0};
    assert_false(ax_pq_th_next(&c, &f));
    assert_true(c.bad);
}

/* ---- hybrid ---------------------------------------------------------------------------------- */

static uint32_t random32(uint64_t *s)
{
    *s = *s * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t) (*s >> 32);
}

static void hybrid_every_width(void **state)
{
    uint32_t v[1000], out[1000], max, largest, i;
    unsigned round;
    uint64_t seed = 7;

    (void) state;
    for (round = 0; round < 64; round++)
    {
        unsigned width = round % 32 + 1;
        uint32_t mask = width == 32 ? UINT32_MAX : (1u << width) - 1;
        ax_pq_rle r;

        ax_cpu_force(round < 32 ? AX_CPU_BASE : ax_cpu_detect());
        begin();
        for (largest = i = 0; i < 1000; i++)
            v[i] = i >= 500 && i < 900 ? (777u & mask) : random32(&seed) & mask;
        e_packed(&e, v, 496, width);
        e_packed(&e, v + 496, 4, width); /* padded: four values too many */
        ax_pq_rle_init(&r, e.p, e.p + e.n, (uint8_t) width);
        max = 0;
        for (i = 0; i < 500; i += 25) /* odd starts inside a group */
            assert_true(ax_pq_rle_read(&r, out + i, 25, &max));
        assert_memory_equal(v, out, 500 * 4);
        for (i = 0; i < 500; i++)
            largest = v[i] > largest ? v[i] : largest;
        assert_int_equal(max, largest);
        ax_pq_rle_init(&r, e.p, e.p + e.n, (uint8_t) width);
        assert_true(ax_pq_rle_skip(&r, 3));
        assert_true(ax_pq_rle_read(&r, out, 490, &max));
        assert_memory_equal(v + 3, out, 490 * 4);

        begin();
        e_run(&e, 400, 777u & mask, width);
        e_packed(&e, v + 900, 100, width);
        ax_pq_rle_init(&r, e.p, e.p + e.n, (uint8_t) width);
        assert_true(ax_pq_rle_skip(&r, 399));
        assert_true(ax_pq_rle_read(&r, out, 61, &max));
        assert_int_equal(out[0], 777u & mask);
        assert_memory_equal(out + 1, v + 900, 60 * 4);
        assert_true(ax_pq_rle_skip(&r, 39));
        assert_true(ax_pq_rle_read(&r, out, 1, &max));
        assert_int_equal(out[0], v[999]);
    }
}

static void hybrid_edges(void **state)
{
    const uint32_t v[8] = {1, 0, 1, 1, 0, 0, 1, 0};
    uint32_t out[32], max = 0;
    ax_pq_rle r;

    (void) state;
    begin(); /* width 0 needs no byte */
    ax_pq_rle_init(&r, e.p, e.p, 0);
    assert_true(ax_pq_rle_read(&r, out, 32, &max));
    assert_int_equal(max, 0);

    begin(); /* a run of no values, of both kinds */
    e_run(&e, 0, 1, 1);
    ax_pq_rle_init(&r, e.p, e.p + e.n, 1);
    assert_false(ax_pq_rle_read(&r, out, 1, &max));
    begin();
    e_varint(&e, 1);
    ax_pq_rle_init(&r, e.p, e.p + e.n, 1);
    assert_false(ax_pq_rle_read(&r, out, 1, &max));

    begin(); /* the padding of the last group may be cut off, a value may not */
    e_packed(&e, v, 8, 3);
    ax_pq_rle_init(&r, e.p, e.p + 3, 3);
    assert_true(ax_pq_rle_read(&r, out, 5, &max));
    assert_memory_equal(out, v, 20);
    assert_false(ax_pq_rle_read(&r, out, 1, &max));

    begin(); /* a run whose value has more bits than the width */
    e_run(&e, 5, 9, 3);
    ax_pq_rle_init(&r, e.p, e.p + e.n, 3);
    assert_false(ax_pq_rle_read(&r, out, 5, &max));
}

static void bitpacked_levels_turn(void **state)
{
    /* 3 bits, most significant first: 5 = 101, 1 = 001, 6 = 110 -> 1010 0111 0 */
    const uint8_t src[2] = {0xa7, 0x00};
    uint8_t dst[2];
    uint32_t out[3];
    ax_pq_rle r = {.packed = dst, .packed_left = 3, .width = 3};

    (void) state;
    ax_pq_bitpacked_turn(src, dst, 3, 3);
    {
        uint8_t room[16] = {dst[0], dst[1]};

        r.packed = room;
        ax_pq_rle_unpack(&r, out, 3);
    }
    assert_int_equal(out[0], 5);
    assert_int_equal(out[1], 1);
    assert_int_equal(out[2], 6);
}

/* ---- delta ----------------------------------------------------------------------------------- */

/* n values as blocks of 128 with 4 miniblocks, deltas against a minimum of `min`. */
static void e_delta(const uint64_t *v, uint32_t n, int64_t min, unsigned width)
{
    uint32_t i, k, b;

    e_varint(&e, 128);
    e_varint(&e, 4);
    e_varint(&e, n);
    e_zigzag(&e, (int64_t) v[0]);
    for (i = 1; i < n; i += 128)
    {
        e_zigzag(&e, min);
        for (k = 0; k < 4; k++)
            e_u8(&e, (uint8_t) width);
        for (k = 0; k < 4 && i + k * 32 < n; k++)
        {
            size_t at = e.n;

            for (b = 0; b < 32 * width / 8; b++)
                e_u8(&e, 0);
            for (b = 0; b < 32 && i + k * 32 + b < n; b++)
            {
                uint64_t d = v[i + k * 32 + b] - v[i + k * 32 + b - 1] - (uint64_t) min;
                unsigned bit;

                for (bit = 0; bit < width; bit++)
                    if (d >> bit & 1)
                        e.p[at + (b * width + bit) / 8] |= (uint8_t) (1 << ((b * width + bit) & 7));
            }
        }
    }
}

static void delta_round_trips(void **state)
{
    static uint64_t v[700], out[700];
    uint64_t seed = 3;
    unsigned width;
    uint32_t i;

    (void) state;
    for (width = 0; width <= 64; width++)
    {
        uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
        ax_pq_delta d;

        begin();
        v[0] = 1000;
        for (i = 1; i < 700; i++)
            v[i] = v[i - 1] + (uint64_t) -5ll +
                   (((uint64_t) random32(&seed) << 32 | random32(&seed)) & mask);
        e_delta(v, 700, -5, width);
        assert_true(ax_pq_delta_init(&d, e.p, e.p + e.n, 64));
        assert_int_equal(d.left, 700);
        for (i = 0; i < 700; i += 35)
            assert_true(ax_pq_delta_read(&d, out + i, 35));
        assert_memory_equal(v, out, sizeof v);
        assert_false(ax_pq_delta_read(&d, out, 1));
        assert_ptr_equal(d.p, e.p + e.n);
    }
}

static void delta_refuses(void **state)
{
    static const uint8_t bad[][4] = {{0, 4, 1, 0}, {8, 0, 1, 0}, {8, 3, 1, 0}, {8, 9, 1, 0}};
    uint64_t v[40] = {0}, out[40];
    ax_pq_delta d;
    uint32_t i;

    (void) state;
    for (i = 0; i < 4; i++) /* block sizes and miniblock counts */
    {
        begin();
        e_bytes(&e, bad[i], 4);
        assert_false(ax_pq_delta_init(&d, e.p, e.p + e.n, 64));
    }
    for (i = 0; i < 40; i++)
        v[i] = i * 1000;
    begin();
    e_delta(v, 40, 0, 33); /* too wide for 32-bit values */
    assert_true(ax_pq_delta_init(&d, e.p, e.p + e.n, 32));
    assert_false(ax_pq_delta_read(&d, out, 40));
    begin(); /* cut off */
    e_delta(v, 40, 0, 10);
    assert_true(ax_pq_delta_init(&d, e.p, e.p + 20, 64));
    assert_false(ax_pq_delta_read(&d, out, 40));
}

/* ---- text ------------------------------------------------------------------------------------ */

static void utf8(void **state)
{
    static const struct { const char *s; uint32_t n; bool ok; } cases[] = {
        {"abc", 3, true}, {"", 0, true}, {"\xc3\xa9", 2, true}, {"\xc3", 1, false},
        {"\xc0\x80", 2, false}, {"\xed\xa0\x80", 3, false}, {"\xf4\x8f\xbf\xbf", 4, true},
        {"\xf4\x90\x80\x80", 4, false}, {"a\0b", 3, false}, {"\x80", 1, false},
        {"12345678\xe2\x82\xac", 11, true}, {"\xe2\x82", 2, false}, {"\xf0\x8f\xbf\xbf", 4, false},
    };
    uint32_t i, off = 0;
    bool ascii = true;

    (void) state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        uint8_t room[16 + AX_PAD] = {0};

        memcpy(room, cases[i].s, cases[i].n);
        assert_int_equal(ax_utf8_ok(room, &off, &cases[i].n, 1, -1, &ascii), cases[i].ok);
    }
}

/* All levels of kernels agree on random pieces of text with one byte changed. */
static void utf8_kernels_agree(void **state)
{
    static const char *const pieces[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                         "\xd0\x96", "0123456789", "\xef\xbf\xbd", "\x7f"};
    static uint8_t buf[256 + AX_PAD];
    uint64_t seed = 11;
    uint32_t round, off = 0, valid = 0;

    (void) state;
    for (round = 0; round < 40000; round++)
    {
        uint32_t n = 0, want = random32(&seed) % 80;
        bool ok[2], ascii[2] = {true, true};

        while (n < want)
        {
            const char *piece = pieces[random32(&seed) % 8];

            memcpy(buf + n, piece, strlen(piece));
            n += (uint32_t) strlen(piece);
        }
        if (n > 0 && round % 2 == 0)
            buf[random32(&seed) % n] = (uint8_t) random32(&seed);
        n -= n > 0 && round % 3 == 0;
        ax_cpu_force(AX_CPU_BASE);
        ok[0] = ax_utf8_ok(buf, &off, &n, 1, -1, &ascii[0]);
        ax_cpu_force(ax_cpu_detect());
        ok[1] = ax_utf8_ok(buf, &off, &n, 1, -1, &ascii[1]);
        assert_int_equal(ok[0], ok[1]);
        if (ok[0])
            assert_int_equal(ascii[0], ascii[1]);
        valid += ok[0];
    }
    assert_in_range(valid, 8000, 36000);
}

static void text_behind_lengths(void **state)
{
    uint32_t off[600], len[600], i, n = 0;
    bool ascii = true;

    (void) state;
    begin();
    for (i = 0; i < 150; i++) /* lengths 0..149: their bytes are zeros and high bytes too */
    {
        e_u32(&e, i);
        off[n] = (uint32_t) e.n;
        len[n++] = i;
        while (e.n < off[n - 1] + i)
            e_u8(&e, 'a');
    }
    assert_true(ax_utf8_ok(e.p, off, len, n, 4, &ascii));
    assert_true(ascii);
    e.p[off[140] + 70] = 0;
    assert_false(ax_utf8_ok(e.p, off, len, n, 4, &ascii));
    e.p[off[140] + 70] = 0xff;
    assert_false(ax_utf8_ok(e.p, off, len, n, 4, &ascii));
    memcpy(e.p + off[140] + 70, "\xc3\xa9", 2);
    assert_true(ax_utf8_ok(e.p, off, len, n, 4, &ascii));
    assert_false(ascii);
    /* A sequence cut off by the end of its string. */
    e.p[off[140] + 70] = 'a';
    e.p[off[140] + 71] = 'a';
    e.p[off[140] + 139] = 0xc3;
    assert_false(ax_utf8_ok(e.p, off, len, n, 4, &ascii));
}

/* Strings behind each other, with their lengths between and without: what the whole says is what
 * each alone says. */
static void text_in_stretches(void **state)
{
    static const char *const pieces[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                         "0123456789012345678901234567890123456789"};
    uint64_t seed = 5;
    uint32_t round, valid = 0;

    (void) state;
    for (round = 0; round < 20000; round++)
    {
        uint32_t off[40], len[40], n = 1 + random32(&seed) % 40, i;
        int gap = round % 2 == 0 ? 4 : 0;
        bool want = true, ascii = true, low = true, all_low = true;

        begin();
        for (i = 0; i < n; i++)
        {
            uint32_t k = random32(&seed) % 6, at;

            if (gap == 4)
                e_u32(&e, 0);
            off[i] = (uint32_t) e.n;
            while (k-- > 0)
            {
                const char *piece = pieces[random32(&seed) % 5];

                e_bytes(&e, piece, strlen(piece));
            }
            len[i] = (uint32_t) e.n - off[i];
            at = off[i] + (len[i] > 0 ? random32(&seed) % len[i] : 0);
            if (len[i] > 0 && random32(&seed) % 60 == 0)
                e.p[at] = (uint8_t) (random32(&seed) % 3 == 0 ? 0 : random32(&seed));
            else if (len[i] > 0 && random32(&seed) % 60 == 0)
                len[i] = (uint32_t) (e.n = at) - off[i];
            if (gap == 4)
                memcpy(e.p + off[i] - 4, &len[i], 4);
        }
        e_bytes(&e, "\xbf\xbf", 2); /* not theirs */
        for (i = 0; i < n; i++)
            want &= ax_utf8_ok(e.p, off + i, len + i, 1, -1, &low);
        all_low = low;
        assert_int_equal(ax_utf8_ok(e.p, off, len, n, gap, &ascii), want);
        if (want)
            assert_int_equal(ascii, all_low);
        valid += want;
    }
    assert_in_range(valid, 4000, 16000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thrift_short_and_long_ids),
        cmocka_unit_test(thrift_wrong_type_is_absent),
        cmocka_unit_test(thrift_skips_everything),
        cmocka_unit_test(thrift_refuses),
        cmocka_unit_test(hybrid_every_width),
        cmocka_unit_test(hybrid_edges),
        cmocka_unit_test(bitpacked_levels_turn),
        cmocka_unit_test(delta_round_trips),
        cmocka_unit_test(delta_refuses),
        cmocka_unit_test(utf8),
        cmocka_unit_test(utf8_kernels_agree),
        cmocka_unit_test(text_behind_lengths),
        cmocka_unit_test(text_in_stretches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
