/* Which bounds are believed: one line a trap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "encode_test.h"

#include <math.h>

/* Fields of Statistics, in the words of the format. */
enum { OLD_MAX = 1, OLD_MIN = 2, NULLS = 3, MAX = 5, MIN = 6, MAX_EXACT = 7, NANS = 9 };

#define MR "parquet-mr version 1.12.0 (build abc)"

typedef struct trap
{
    const char *why, *writer;
    int type, converted;
    bool orders;
    const char *fields;      /* pairs: field id, payload letter; see below */
    const char *want;        /* m: minimum, M: maximum, 0..9: nulls, n: nulls unknown, e: exact */
} trap;

/* Payload letters: a..z one-byte strings and int32 values of their place; A: NaN, B: wrong length,
 * C: empty, D: double of 2.0, E: double of 5.0, digits: counts. */
static const trap traps[] = {
    {"new pair", MR, PQ_INT32, -1, true, "6b5d30", "mM0e"},
    {"old pair, signed type", MR, PQ_INT32, -1, true, "2b1d30", "mM0e"},
    {"old pair, unsigned type", MR, PQ_INT32, 13, true, "2b1d", "n"},
    {"old pair, unsigned type, equal", MR, PQ_INT32, 13, true, "2b1b", "mMne"},
    {"old pair of strings", MR, PQ_BYTE_ARRAY, 0, true, "2b1d", "n"},
    {"old pair of strings, equal", MR, PQ_BYTE_ARRAY, 0, true, "2b1b", "mMn"},
    {"new pair of strings", MR, PQ_BYTE_ARRAY, 0, true, "6b5d", "mMn"},
    {"no column orders", "DuckDB version v1.1.0", PQ_BYTE_ARRAY, 0, false, "6b5d30", "mM0"},
    {"PARQUET-251", "parquet-mr version 1.7.0 (build x)", PQ_BYTE_ARRAY, 0, true, "6b5b", "n"},
    {"PARQUET-251 spares integers", "parquet-mr version 1.7.0 (build x)", PQ_INT32, -1, true,
     "2b1d", "mMn"},
    {"signed bytes", "parquet-mr version 1.9.0 (build x)", PQ_BYTE_ARRAY, 0, true, "6b5d", "n"},
    {"other application", "parquet-mr compatible Photon version 0.2 (build x)", PQ_BYTE_ARRAY, 0,
     true, "6b5d", "mMn"},
    {"no writer, old strings", NULL, PQ_BYTE_ARRAY, 0, true, "2b1b", "n"},
    {"turned over", MR, PQ_INT32, -1, true, "6d5b", "n"},
    {"only one", MR, PQ_INT32, -1, true, "6b", "mne"},
    {"wrong length", MR, PQ_INT32, -1, true, "6B5d", "Mn"},
    {"NaN", MR, PQ_DOUBLE, -1, true, "6A5A", "n"},
    {"floats have no maximum", MR, PQ_DOUBLE, -1, true, "6D5E", "mne"},
    {"floats without NaN have", MR, PQ_DOUBLE, -1, true, "6D5E90", "mMne"},
    {"empty maximum", MR, PQ_BYTE_ARRAY, 0, true, "6C5C", "mn"},
    {"nulls of an unknown writer", "Deephaven version 1.0.0", PQ_INT32, -1, true, "6b5d30", "mMn"},
    {"more nulls than values", MR, PQ_INT32, -1, true, "6b5d3x", "mMn"},
    {"all null but bounds", MR, PQ_INT32, -1, true, "6b5d39", "mMn"},
    {"all null", MR, PQ_INT32, -1, true, "39", "9"},
    {"interval", MR, PQ_FLBA, 21, true, "6B5B", "n"},
};

static ax_budget budget;
static ax_task t;
static ax_io *io;
static enc out;

static void e_payload(enc *e, int id, char ch, int type)
{
    double d = ch == 'A' ? (double) NAN : ch == 'D' ? 2.0 : 5.0;

    if (ch >= '0' && ch <= '9')
        e_int(e, id, ch - '0');
    else if (id == NULLS)
        e_int(e, id, 1000);
    else if (ch == 'A' || ch == 'D' || ch == 'E')
        e_bin(e, id, &d, 8);
    else if (ch == 'B')
        e_bin(e, id, "12345678", 7);
    else if (ch == 'C')
        e_bin(e, id, "", 0);
    else
        e_bin(e, id, (uint32_t[]){(uint32_t) ch}, type == PQ_BYTE_ARRAY ? 1 : 4);
}

static void bounds_of(const trap *tr, ax_bounds *b)
{
    static enc stats, values;
    test_page page = {PQ_PAGE_DATA, PQ_PLAIN, 9, NULL, &values};
    test_column col = {"c", tr->type, PQ_OPTIONAL, tr->converted, 12, 0, 0, &page, 1, &stats, 0, 0};
    test_file f = {tr->writer, 9, &col, 1, tr->orders};
    ax_bind_opts opts = {.match_by = AX_BY_POSITION};
    ax_colspec spec = {.name = "c", .field_id = -1};
    ax_fmt_input in = {.meta_budget = &budget};
    ax_io_file *file;
    ax_fmt_event ev;
    ax_fmt_bind *bind;
    ax_fmt_op *op;
    const char *p;

    stats.n = values.n = 0;
    for (p = tr->fields; *p != '\0'; p += 2)
        e_payload(&stats, p[0] - '0', p[1], tr->type);
    e_u8(&stats, 0);
    e_file(&out, &f);
    assert_int_equal(ax_io_open_memory(&t, io, "m", out.p, out.n, &file), AX_OK);
    in.file = file;
    assert_int_equal(ax_format_parquet.open_begin(&t, t.arena, &in, &op), AX_OK);
    assert_int_equal(ax_fmt_drive(&t, io, &ax_format_parquet, op, NULL, NULL, &ev), AX_OK);
    spec.type = ev.file->schema.field[0].type;
    assert_int_equal(ax_format_parquet.bind(&t, t.arena, ev.file, &spec, 1, &opts, &bind), AX_OK);
    (void) ax_format_parquet.bounds(bind, 0, 0, b);
    ax_fmt_file_unref(ev.file);
    ax_io_file_unref(file);
}

static void statistics_traps(void **state)
{
    uint32_t i;

    (void) state;
    for (i = 0; i < sizeof traps / sizeof traps[0]; i++)
    {
        const trap *tr = &traps[i];
        ax_bounds b;
        int64_t nulls = -1;
        const char *p;

        for (p = tr->want; *p != '\0'; p++)
            if (*p >= '0' && *p <= '9')
                nulls = *p - '0';
        bounds_of(tr, &b);
        if (b.has_min != (strchr(tr->want, 'm') != NULL) ||
            b.has_max != (strchr(tr->want, 'M') != NULL) || b.nulls != nulls ||
            (strchr(tr->want, 'e') != NULL && b.has_min && !b.min_exact))
            fail_msg("%s: min %d max %d nulls %d exact %d", tr->why, b.has_min, b.has_max,
                     (int) b.nulls, b.min_exact);
    }
}

static void created_by(void **state)
{
    static const struct { const char *s, *app; bool known; int major, minor, patch; } cases[] = {
        {"parquet-mr version 1.8.0-SNAPSHOT (build 1234)", "parquet-mr", true, 1, 8, 0},
        {"parquet-cpp-arrow version 14.0.2", "parquet-cpp-arrow", true, 14, 0, 2},
        {"DuckDB version v1.5.0 (build x)", "DuckDB", true, 1, 5, 0},
        {"DuckDB", "DuckDB", false, 0, 0, 0},
        {"parquet-mr", "parquet-mr", false, 0, 0, 0},
        {"", "", false, 0, 0, 0},
        {"parquet-cpp version(..151-SNAPSHOT", "parquet-cpp", false, 0, 0, 0},
        {"impala version 1.3.0-INTERNAL (build x)", "impala", true, 1, 3, 0},
        {"a  version 3.4", "a", true, 3, 4, 0},
        {"x version 99999999999999.1", "x", false, 0, 0, 0},
    };
    uint32_t i;

    (void) state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        ax_pq_writer w;

        assert_int_equal(ax_pq_writer_parse(&t, t.arena, (const uint8_t *) cases[i].s,
                                            (uint32_t) strlen(cases[i].s), &w), AX_OK);
        assert_string_equal(w.app, cases[i].app);
        assert_int_equal(w.known, cases[i].known);
        if (w.known)
        {
            assert_int_equal(w.major, cases[i].major);
            assert_int_equal(w.minor, cases[i].minor);
            assert_int_equal(w.patch, cases[i].patch);
        }
    }
}

static int set_up(void **state)
{
    (void) state;
    ax_budget_init(&budget, "test", 64 << 20, NULL);
    return ax_task_init(&t, &budget, NULL) != AX_OK || ax_io_create(&io, 4) != AX_OK;
}

static int tear_down(void **state)
{
    (void) state;
    ax_task_fini(&t);
    ax_io_destroy(io);
    return atomic_load(&budget.used_bytes) != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_traps),
        cmocka_unit_test(created_by),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
