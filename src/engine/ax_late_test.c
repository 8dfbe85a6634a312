/* Files that are opened when a scan gets there, or never. */
#include "fake_host_test.h"

#define FILES 6u
#define ROWS 400u /* of a file: two splits */

typedef struct folder
{
    host h;
    char uri[FILES][2][48];
    char path[40];
} folder;

/* FILES files in directories p=0, p=1, ...; listed as table 0, and column d is p. */
static void folder_begin(folder *f, uint32_t threads, uint32_t delay_us)
{
    host *h = &f->h;
    ax_query_opts o;
    ax_query *q;
    ax_batch *b;
    ax_error err;

    host_begin(h, threads, delay_us);
    h->ntables = 1;
    h->bytes[0] = ff_build(2, ROWS / 2, 50, row_plain);
    for (uint32_t i = 0; i < FILES; i++)
    {
        snprintf(f->uri[i][0], sizeof f->uri[i][0], "fake://d/p=%u/x.gran", i);
        snprintf(f->uri[i][1], sizeof f->uri[i][1], "fake://d/p=%u/x.gran.mrk", i);
        h->remote.blob[h->remote.nblobs++] =
            (ax_fake_blob){f->uri[i][0], h->bytes[0].main, h->bytes[0].nmain};
        h->remote.blob[h->remote.nblobs++] =
            (ax_fake_blob){f->uri[i][1], h->bytes[0].marks, h->bytes[0].nmarks};
    }
    h->source[0] = host_source(h, "fake://d/p=*/*.gran");
    o = host_opts(h);
    assert_int_equal(ax_query_list(h->engine, h->source[0], &o, &q, &err), AX_OK);
    assert_int_equal(host_next(h, q, &b), AX_NEXT_DONE);
    ax_query_destroy(q);
    assert_int_equal(ax_source_files(h->source[0]), FILES);
    for (uint32_t i = 0; i < FILES; i++)
    {
        ax_fixed_col fixed = {.col = 2};
        uint32_t n;

        assert_null(ax_source_file(h->source[0], i));
        assert_string_equal(ax_source_file_part_names(h->source[0], i, &n)[0], "p");
        assert_int_equal(n, 1);
        fixed.value.type = ax_type_make(AX_T_INT4);
        fixed.value.u.i = atoi(ax_source_file_part_values(h->source[0], i)[0]);
        assert_int_equal(ax_source_fix(h->source[0], i, &fixed, 1, &err), AX_OK);
    }
}

/* Open with a condition on the declared columns. */
static void folder_open(folder *f, uint32_t max, ax_expr *conj)
{
    ax_query_opts o = host_opts(&f->h);
    ax_query *q;
    ax_batch *b;
    ax_error err;

    o.open_files = max;
    o.conj = &conj;
    o.nconj = conj != NULL;
    assert_int_equal(ax_query_open(f->h.engine, f->h.source[0], &o, &q, &err), AX_OK);
    assert_int_equal(host_next(&f->h, q, &b), AX_NEXT_DONE);
    ax_query_destroy(q);
}

static uint32_t opened(const folder *f)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < FILES; i++)
        n += ax_source_file(f->h.source[0], i) != NULL;
    return n;
}

static void lanes_open_what_is_not_open(void **state)
{
    (void) state;
    for (uint32_t threads = 1; threads <= 4; threads++)
        for (uint32_t max = 1; max <= FILES; max++)
        {
            folder f;
            ax_query *q;
            ax_profile p;
            sums s;

            folder_begin(&f, threads, 200);
            folder_open(&f, max, NULL);
            assert_int_equal(opened(&f), max < FILES && max > 2 * threads ? 2 * threads : max);
            assert_int_equal(ax_source_rows(f.h.source[0]), FILES * ROWS); /* files are alike */
            host_plan(&f.h);
            x_scan(&f.h, 0, NULL);
            q = host_start(&f.h);
            s = host_drain(&f.h, q);
            assert_int_equal(s.last, AX_NEXT_DONE);
            assert_int_equal(s.rows, FILES * ROWS);
            assert_int_equal(s.sum, (int64_t) FILES * ROWS * (ROWS - 1) / 2);
            ax_query_profile(q, &p);
            assert_int_equal(p.files, FILES);
            assert_int_equal(p.splits, 2 * FILES);
            assert_int_equal(p.splits_done, 2 * FILES);
            ax_query_destroy(q);
            assert_int_equal(opened(&f), FILES);
            host_end(&f.h);
        }
}

/* Winners are found again in files that had no known number of splits when the scan began. */
static void winners_of_late_files_are_found(void **state)
{
    ax_sort_key key = {1, true, false};

    (void) state;
    for (uint32_t threads = 1; threads <= 3; threads++)
        for (uint32_t max = 1; max <= FILES; max++)
        {
            folder f;
            ax_query *q;
            ax_profile p;
            ax_batch *b;
            uint32_t at = 0;

            folder_begin(&f, threads, 50);
            folder_open(&f, max, NULL);
            host_plan(&f.h);
            assert_non_null(ax_plan_topn(f.h.plan, x_scan(&f.h, 0, NULL), &key, 1,
                                         x_int8(&f.h, FILES * 20), NULL));
            q = host_start(&f.h);
            while (host_next(&f.h, q, &b) == AX_NEXT_BATCH)
                for (uint32_t i = 0; i < b->nsel; i++, at++)
                {
                    uint32_t row = ROWS - 1 - at / FILES;
                    ax_value s = ax_vec_value(&b->col[3], i);
                    ff_row r;

                    row_plain(row, &r);
                    assert_int_equal(ax_vec_value(&b->col[0], i).u.i, r.id);
                    assert_int_equal(s.u.s.len, strlen(r.s));
                    assert_memory_equal(s.u.s.p, r.s, s.u.s.len);
                }
            assert_int_equal(at, FILES * 20);
            ax_query_profile(q, &p);
            assert_int_equal(p.late_columns, 3);
            ax_query_destroy(q);
            host_end(&f.h);
        }
}

static void excluded_files_are_never_opened(void **state)
{
    folder f;
    ax_query *q;
    ax_profile p;
    ax_query_opts o;
    ax_plan *kept;
    ax_expr *four;
    sums s;

    (void) state;
    folder_begin(&f, 2, 100);
    kept = host_plan(&f.h);
    four = x_call(&f.h, AX_FN_GE, x_col(&f.h, 2), x_int8(&f.h, 4));
    folder_open(&f, 0, four);
    assert_int_equal(opened(&f), 2);
    assert_true(ax_source_rows_matching(f.h.source[0], &four, 1) == 2 * ROWS);
    x_scan(&f.h, 0, four);
    q = host_start(&f.h);
    s = host_drain(&f.h, q);
    assert_int_equal(s.last, AX_NEXT_DONE);
    ax_query_profile(q, &p);
    assert_int_equal(p.files_pruned[AX_PRUNED_PARTITION], 4);
    assert_int_equal(p.splits, 4);
    ax_query_destroy(q);
    assert_int_equal(opened(&f), 2);
    /* the same without being allowed to */
    assert_ptr_equal(kept, f.h.plan);
    o = host_opts(&f.h);
    o.allow &= ~(uint32_t) AX_ALLOW_PARTITION;
    q = host_start_with(&f.h, &o);
    (void) host_drain(&f.h, q);
    ax_query_profile(q, &p);
    assert_int_equal(p.files_pruned[AX_PRUNED_PARTITION], 0);
    assert_int_equal(opened(&f), FILES);
    ax_query_destroy(q);
    host_end(&f.h);
}

/* (E04) What was opened before the run is read first, and was not much. */
static void a_limit_opens_no_more_than_two_for_each_thread(void **state)
{
    (void) state;
    for (uint32_t threads = 1; threads <= 4; threads++)
    {
        uint32_t most = 2 * threads < FILES ? 2 * threads : FILES;
        folder f;
        ax_query *q;

        folder_begin(&f, threads, 100);
        folder_open(&f, FILES - 1, NULL);
        host_plan(&f.h);
        assert_non_null(ax_plan_limit(f.h.plan, x_scan(&f.h, 0, NULL), x_int8(&f.h, 1), NULL));
        q = host_start(&f.h);
        assert_int_equal(host_drain(&f.h, q).rows, 1);
        assert_in_range(opened(&f), 1, most);
        ax_query_destroy(q);
        host_end(&f.h);
    }
}

static void a_limit_opens_few(void **state)
{
    folder f;
    ax_query *q;
    ax_profile p;
    ax_expr *ten;
    ax_node *scan;
    sums s;

    (void) state;
    folder_begin(&f, 1, 100);
    host_plan(&f.h);
    scan = x_scan(&f.h, 0, NULL);
    ten = x_int8(&f.h, 10);
    assert_non_null(ax_plan_limit(f.h.plan, scan, ten, NULL));
    q = host_start(&f.h);
    s = host_drain(&f.h, q);
    assert_int_equal(s.rows, 10);
    ax_query_profile(q, &p);
    assert_int_equal(p.files_pruned[AX_PRUNED_LIMIT], FILES - 1);
    assert_int_equal(opened(&f), 1);
    ax_query_destroy(q);
    host_end(&f.h);
}

/* The n-th request fails: a scan that opens files says so, and which. */
static void failures_name_the_file(void **state)
{
    (void) state;
    for (uint32_t nth = 1; nth <= 3 * FILES; nth++)
    {
        folder f;
        ax_query *q;
        sums s;

        folder_begin(&f, 2, 100);
        pthread_mutex_lock(&f.h.remote.lock);
        f.h.remote.nasked = 0;
        f.h.remote.fail_nth = nth;
        pthread_mutex_unlock(&f.h.remote.lock);
        host_plan(&f.h);
        x_scan(&f.h, 0, NULL);
        q = host_start(&f.h);
        s = host_drain(&f.h, q);
        assert_int_equal(s.last, AX_NEXT_ERROR);
        assert_int_equal(ax_query_error(q)->code, AX_ENET);
        assert_memory_equal(ax_query_error(q)->place.file, "fake://d/p=", 11);
        ax_query_destroy(q);
        host_end(&f.h);
    }
}

/* Two queries over one list want the same files at once; both are stopped at any time. */
static void late_openings_are_shared_and_stopped(void **state)
{
    (void) state;
    for (uint32_t round = 0; round < 60; round++)
    {
        folder f;
        ax_query *q[2];
        ax_batch *b;
        sums s;

        folder_begin(&f, 3, 300);
        host_plan(&f.h);
        x_scan(&f.h, 0, NULL);
        q[0] = host_start(&f.h);
        q[1] = host_start(&f.h);
        if (ax_query_next(q[0], &b) == AX_NEXT_WAIT)
            nanosleep(&(struct timespec){0, (long) round * 40000}, NULL);
        if (round % 2 == 0)
            (void) ax_query_next(q[1], &b);
        ax_query_destroy(q[0]);
        if (round % 3 > 0)
        {
            s = host_drain(&f.h, q[1]);
            assert_int_equal(s.last, AX_NEXT_DONE);
            assert_int_equal(opened(&f), FILES);
        }
        ax_query_destroy(q[1]);
        host_end(&f.h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_open_what_is_not_open),
        cmocka_unit_test(winners_of_late_files_are_found),
        cmocka_unit_test(excluded_files_are_never_opened),
        cmocka_unit_test(a_limit_opens_few),
        cmocka_unit_test(a_limit_opens_no_more_than_two_for_each_thread),
        cmocka_unit_test(failures_name_the_file),
        cmocka_unit_test(late_openings_are_shared_and_stopped),
    };

    return cmocka_run_group_tests_name("late", tests, NULL, NULL);
}
