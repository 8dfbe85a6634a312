/* One row group for several scans that run at once: every row comes once and is right, whatever is
 * made for all of them, whoever leaves early, and whatever is damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ENC_BYTES (16 << 20)
#include "encode_test.h"

#include <stdio.h>

enum { ROWS = 600000, WORDS = 60000, PAGE_ROWS = 50000, PAGES = ROWS / PAGE_ROWS, SCANS = 4 };
enum { TEXT_PAGES = 2, TEXT_ROWS = ROWS / TEXT_PAGES };

static ax_budget budget;
static ax_task t;
static ax_io *io;
static ax_io_file *file;
static ax_fmt_file *f;
static ax_fmt_bind *bind;
static ax_fmt_share share;
static ax_job *waiter[SCANS];
static enc out, numbers, words, ids, texts[TEXT_PAGES], part[PAGES];
static uint8_t seen[ROWS];

static int64_t number(uint32_t row) { return (int64_t) row * 7919 % 1000003; }
static int32_t small(uint32_t row) { return (int32_t) (row / 3); }
static uint32_t word_of(uint32_t row) { return row * 31u % WORDS; }

static uint32_t word(uint32_t i, char *to)
{
    return (uint32_t) sprintf(to, "word-%u-which-is-the-%u-th-of-all-that-there-are-and-is-long-"
                                  "enough", i, i);
}

/* Texts of 0 to 20 bytes. */
static uint32_t text(uint32_t row, char *to)
{
    uint32_t n = row % 11 == 0 ? 0 : row % 3 == 0 ? 20 : 3 + row % 7;

    for (uint32_t i = 0; i < n; i++)
        to[i] = (char) ('a' + (row >> i) % 16);
    return n;
}

/* Columns: one large page; several pages; ids in one page of a large dictionary; texts. */
static void make_file(void)
{
    static test_page one[1], several[PAGES], dict[2], plain[TEXT_PAGES];
    static test_column col[4];
    test_file tf = {"test", ROWS, col, 4, true};
    uint32_t k;
    char w[96];

    numbers.n = words.n = ids.n = 0;
    for (uint32_t i = 0; i < ROWS; i++)
        e_u64(&numbers, (uint64_t) number(i));
    for (uint32_t p = 0; p < PAGES; p++)
    {
        part[p].n = 0;
        for (uint32_t i = 0; i < PAGE_ROWS; i++)
            e_u32(&part[p], (uint32_t) small(p * PAGE_ROWS + i));
        several[p] = (test_page){PQ_PAGE_DATA, PQ_PLAIN, PAGE_ROWS, NULL, &part[p], NULL, 0, true};
    }
    for (uint32_t i = 0; i < WORDS; i++)
    {
        k = word(i, w);
        e_u32(&words, k);
        e_bytes(&words, w, k);
    }
    e_u8(&ids, 16);
    e_varint(&ids, (uint64_t) ROWS / 8 << 1 | 1);
    for (uint32_t i = 0; i < ROWS; i++)
    {
        e_u8(&ids, (uint8_t) word_of(i));
        e_u8(&ids, (uint8_t) (word_of(i) >> 8));
    }
    for (uint32_t p = 0; p < TEXT_PAGES; p++)
    {
        texts[p].n = 0;
        for (uint32_t i = 0; i < TEXT_ROWS; i++)
        {
            k = text(p * TEXT_ROWS + i, w);
            e_u32(&texts[p], k);
            e_bytes(&texts[p], w, k);
        }
        plain[p] = (test_page){PQ_PAGE_DATA, PQ_PLAIN, TEXT_ROWS, NULL, &texts[p], NULL, 0, true};
    }
    one[0] = (test_page){PQ_PAGE_DATA, PQ_PLAIN, ROWS, NULL, &numbers, NULL, 0, true};
    dict[0] = (test_page){PQ_PAGE_DICTIONARY, PQ_PLAIN, WORDS, NULL, &words, NULL, 0, true};
    dict[1] = (test_page){PQ_PAGE_DATA, PQ_RLE_DICTIONARY, ROWS, NULL, &ids, NULL, 0, true};
    col[0] = (test_column){"n", PQ_INT64, PQ_REQUIRED, -1, 0, 0, 0, one, 1, NULL, 0, 0, 0, 1};
    col[1] = (test_column){"s", PQ_INT32, PQ_REQUIRED, -1, 0, 0, 0, several, PAGES, NULL, 0, 0, 0,
                           1};
    col[2] = (test_column){"w", PQ_BYTE_ARRAY, PQ_REQUIRED, 0, 0, 0, 0, dict, 2, NULL, 0, 0, 0, 1};
    col[3] = (test_column){"x", PQ_BYTE_ARRAY, PQ_REQUIRED, 0, 0, 0, 0, plain, TEXT_PAGES, NULL, 0,
                           0, 0, 1};
    e_file(&out, &tf);
}

static void close_file(void)
{
    ax_fmt_file_unref(f);
    ax_io_file_unref(file);
}

static ax_status open_file(void)
{
    static ax_colspec col[4];
    ax_bind_opts opts = {.case_insensitive = true};
    ax_fmt_input in = {.meta_budget = &budget, .uri = "test"};
    ax_fmt_event ev;
    ax_fmt_op *op;

    AX_TRY(ax_io_open_memory(&t, io, "test.parquet", out.p, out.n, &file));
    in.file = file;
    AX_TRY(ax_format_parquet.open_begin(&t, t.arena, &in, &op));
    AX_TRY(ax_fmt_drive(&t, io, &ax_format_parquet, op, NULL, NULL, &ev));
    f = ev.file;
    col[0] = (ax_colspec){.name = "n", .type = ax_type_make(AX_T_INT8)};
    col[1] = (ax_colspec){.name = "s", .type = ax_type_make(AX_T_INT4)};
    col[2] = (ax_colspec){.name = "w", .type = ax_type_make(AX_T_TEXT)};
    col[3] = (ax_colspec){.name = "x", .type = ax_type_make(AX_T_TEXT)};
    return ax_format_parquet.bind(&t, t.arena, f, col, 4, &opts, &bind);
}

static int set_up(void **state)
{
    (void) state;
    ax_budget_init(&budget, "test", 256 << 20, NULL);
    if (ax_task_init(&t, &budget, NULL) != AX_OK || ax_io_create(&io, 4) != AX_OK)
        return 1;
    make_file();
    return open_file() != AX_OK;
}

static int tear_down(void **state)
{
    (void) state;
    close_file();
    ax_task_fini(&t);
    ax_io_destroy(io);
    return atomic_load(&budget.used_bytes) != 0;
}

/* ---- scans ----------------------------------------------------------------------------------- */

typedef struct scan
{
    pthread_t thread;
    const ax_rowset *rows;
    uint64_t buffer_bytes;
    uint32_t steps;           /* abandon it after so many; 0: never */
    uint32_t n, wrong;
    ax_status st;
    ax_scan_stats stats;
} scan;

static void look_at(scan *s, const ax_batch *b)
{
    for (uint32_t i = 0; i < b->nsel; i++)
    {
        uint32_t at = b->sel != NULL ? b->sel[i] : i, row = (uint32_t) b->row0 + at;
        ax_value v = ax_vec_value(&b->col[2], at), x = ax_vec_value(&b->col[3], at);
        char w[96], y[96];

        seen[row]++; /* nobody else has it: or a sanitizer speaks */
        s->n++;
        s->wrong += ax_vec_value(&b->col[0], at).u.i != number(row) ||
                    ax_vec_value(&b->col[1], at).u.i != small(row) ||
                    v.u.s.len != word(word_of(row), w) ||
                    memcmp(v.u.s.p, w, v.u.s.len) != 0 || x.u.s.len != text(row, y) ||
                    memcmp(x.u.s.p, y, x.u.s.len) != 0;
    }
}

static ax_status run(scan *s, ax_task *task, ax_arena *a)
{
    static const uint32_t columns[] = {0, 1, 2, 3};
    ax_scan_req req = {.bind = bind, .columns = columns, .ncolumns = 4, .rows = s->rows,
                       .share = &share, .stats = &s->stats, .allow = AX_ALLOW_ALL,
                       .budget = &budget, .buffer_bytes = s->buffer_bytes};
    ax_fmt_event ev = {0};
    ax_fmt_op *op;
    ax_status st;

    AX_TRY(ax_format_parquet.scan_begin(task, a, &req, &op));
    for (uint32_t step = 1;; step++)
    {
        ax_io_ready ready = AX_IO_READY;

        memset(&ev, 0, sizeof ev);
        st = ax_format_parquet.step(task, op, &ev);
        if (st != AX_OK || ev.step == AX_STEP_DONE || step == s->steps)
            break;
        if (ev.step == AX_STEP_BATCH)
            look_at(s, ev.batch);
        else if (ev.need.n > 0)
            st = ax_io_fetch(task, io, &ev.need, NULL, &ready);
        else
            sched_yield(); /* what a lane would wait for */
        if (st != AX_OK)
            break;
    }
    ax_format_parquet.end(op);
    return st;
}

static void *scan_main(void *arg)
{
    scan *s = (scan *) arg;
    ax_arena *a = ax_arena_create(&budget, 0);
    ax_task task;

    s->st = AX_ENOMEM;
    if (ax_task_init(&task, &budget, NULL) == AX_OK && a != NULL)
        s->st = run(s, &task, a);
    ax_arena_destroy(a);
    ax_task_fini(&task);
    return NULL;
}

static void run_all(scan *s, uint32_t n)
{
    memset(seen, 0, sizeof seen);
    memset(&share, 0, sizeof share);
    pthread_mutex_init(&share.lock, NULL);
    share.nscans = n;
    share.waiter = waiter;
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(pthread_create(&s[i].thread, NULL, scan_main, &s[i]), 0);
    for (uint32_t i = 0; i < n; i++)
        pthread_join(s[i].thread, NULL);
    pthread_mutex_destroy(&share.lock);
    assert_null(share.state);
}

static void every_row_comes_once(void **state)
{
    (void) state;
    for (uint32_t n = 1; n <= SCANS; n++)
    {
        scan s[SCANS] = {0};
        uint64_t rows = 0, wrong = 0, pages = 0;

        run_all(s, n);
        for (uint32_t i = 0; i < n; i++)
        {
            assert_int_equal(s[i].st, AX_OK);
            rows += s[i].n;
            wrong += s[i].wrong;
            pages += s[i].stats.pages;
        }
        assert_int_equal(rows, ROWS);
        assert_int_equal(wrong, 0);
        assert_null(memchr(seen, 0, ROWS));
        /* A scan that comes when the others have left makes everything again. */
        assert_true(pages >= PAGES + 2 + TEXT_PAGES && pages <= 2 * (PAGES + 2 + TEXT_PAGES));
    }
}

static void wanted_rows_come_once(void **state)
{
    static const ax_rowrange range[] = {{10, 20}, {65000, 131000}, {400000, 400001},
                                        {599000, 600000}};
    const ax_rowset rows = {range, 4};
    scan s[SCANS] = {0};
    uint32_t n = 0, wrong = 0, want = 0;

    (void) state;
    for (uint32_t i = 0; i < SCANS; i++)
        s[i].rows = &rows;
    run_all(s, SCANS);
    for (uint32_t i = 0; i < SCANS; i++)
    {
        assert_int_equal(s[i].st, AX_OK);
        n += s[i].n;
        wrong += s[i].wrong;
    }
    for (uint32_t i = 0; i < 4; i++)
    {
        want += range[i].end - range[i].begin;
        for (uint32_t r = range[i].begin; r < range[i].end; r++)
            assert_int_equal(seen[r], 1);
    }
    assert_int_equal(n, want);
    assert_int_equal(wrong, 0);
}

/* Where memory is short, one scan has all rows. */
static void memory_may_be_short(void **state)
{
    scan s[SCANS] = {0};
    uint32_t busy = 0;

    (void) state;
    for (uint32_t i = 0; i < SCANS; i++)
        s[i].buffer_bytes = 256 << 10;
    run_all(s, SCANS);
    for (uint32_t i = 0; i < SCANS; i++)
    {
        assert_int_equal(s[i].st, AX_OK);
        assert_int_equal(s[i].wrong, 0);
        assert_true(s[i].n == 0 || s[i].n == ROWS);
        busy += s[i].n == ROWS;
    }
    assert_int_equal(busy, 1);
}

/* Scans that are ended in any state leave nothing behind that the others wait for. */
static void who_leaves_is_no_loss(void **state)
{
    (void) state;
    for (uint32_t steps = 1; steps < 6; steps++)
    {
        scan s[SCANS] = {0};

        for (uint32_t i = 1; i < SCANS; i++)
            s[i].steps = steps;
        run_all(s, SCANS);
        assert_int_equal(s[0].st, AX_OK);
        assert_true(s[0].n > 0);
        for (uint32_t i = 0; i < SCANS; i++)
            assert_int_equal(s[i].wrong, 0);
    }
}

/* Somewhere in what all have to have: an error for each, and nobody waits for ever. */
static void damage_is_everybodys_error(void **state)
{
    scan s[SCANS] = {0};

    (void) state;
    close_file();
    memset(out.p + 200000, 0xff, 64); /* in the first column's page */
    assert_int_equal(open_file(), AX_OK);
    run_all(s, SCANS);
    for (uint32_t i = 0; i < SCANS; i++)
    {
        assert_int_equal(s[i].st, AX_ECORRUPT);
        assert_int_equal(s[i].n, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_comes_once),
        cmocka_unit_test(wanted_rows_come_once),
        cmocka_unit_test(memory_may_be_short),
        cmocka_unit_test(who_leaves_is_no_loss),
        cmocka_unit_test(damage_is_everybodys_error),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
