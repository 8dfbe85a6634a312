/* Scans end to end over the fake remote store and the fake granule format: openings, caches, rows,
 * filters, limits, counts. */
#include "fake_host_test.h"

#include <unistd.h>

#define N 20000u /* rows of a table of 4 splits */

static void scan_returns_every_row(void **state)
{
    (void) state;
    for (uint32_t threads = 1; threads <= 4; threads++)
    {
        host h;
        sums s;

        host_begin(&h, threads, 300);
        host_table(&h, 4, N / 4, 1000, row_plain);
        assert_int_equal(ax_source_rows(h.source[0]), N);
        assert_int_equal(ax_source_splits(h.source[0]), 4);
        host_plan(&h);
        x_scan(&h, 0, NULL);
        s = host_run(&h);
        assert_int_equal(s.last, AX_NEXT_DONE);
        assert_int_equal(s.rows, N);
        assert_int_equal(s.sum, (int64_t) N * (N - 1) / 2);
        host_end(&h);
    }
}

static void text_survives_the_queue(void **state)
{
    host h;
    ax_query *q;
    ax_batch *b;
    uint32_t seen = 0;

    (void) state;
    host_begin(&h, 2, 0);
    host_table(&h, 2, 3000, 700, row_plain);
    host_plan(&h);
    x_scan(&h, 0, NULL);
    q = host_start(&h);
    while (host_next(&h, q, &b) == AX_NEXT_BATCH)
        for (uint32_t i = 0; i < b->nsel; i++)
        {
            ax_value id = ax_vec_value(&b->col[0], i), s = ax_vec_value(&b->col[3], i);
            char want[32];

            snprintf(want, sizeof want, "row %lld", (long long) id.u.i);
            assert_int_equal(s.u.s.len, strlen(want));
            assert_memory_equal(s.u.s.p, want, s.u.s.len);
            seen++;
        }
    assert_int_equal(seen, 6000);
    ax_query_destroy(q);
    host_end(&h);
}

static void filters_prune_and_select(void **state)
{
    static const uint32_t allows[] = {AX_ALLOW_ALL, AX_ALLOW_ALL & ~(uint32_t) AX_ALLOW_PREWHERE};

    (void) state;
    for (int i = 0; i < 2; i++)
    {
        host h;
        ax_query_opts o;
        ax_query *q;
        ax_profile p;
        sums s;

        host_begin(&h, 2, 100);
        host_table(&h, 4, N / 4, 1000, row_plain);
        host_plan(&h);
        x_scan(&h, 0, x_call(&h, AX_FN_LT, x_col(&h, 0), x_int8(&h, 1500)));
        o = host_opts(&h);
        o.allow = allows[i];
        q = host_start_with(&h, &o);
        s = host_drain(&h, q);
        assert_int_equal(s.rows, 1500);
        assert_int_equal(s.sum, 1500 * 1499 / 2);
        ax_query_profile(q, &p);
        assert_int_equal(p.splits, 4);
        assert_int_equal(p.splits_pruned[AX_PRUNED_MINMAX], 3);
        assert_int_equal(p.scan.rows_read, 2000); /* granules after the second are skipped */
        assert_int_equal(p.rows_out, 1500);
        assert_string_equal(p.format, "granules");
        assert_string_equal(p.split_unit, "part");
        ax_query_destroy(q);
        host_end(&h);
    }
}

static void second_open_only_asks_for_identity(void **state)
{
    host h;
    ax_source *again;
    int before;

    (void) state;
    host_begin(&h, 2, 0);
    host_table(&h, 2, 100, 10, row_plain);
    before = atomic_load(&ff_opens);
    again = host_source(&h, h.uri[0][0]);
    host_open(&h, again);
    assert_int_equal(atomic_load(&ff_opens), before);
    assert_int_equal(ax_source_rows(again), 200);
    ax_source_destroy(again);
    ax_engine_trim(h.engine);
    host_open(&h, h.source[0]);
    assert_int_equal(atomic_load(&ff_opens), before); /* the source held the file, not the cache */
    host_end(&h);
}

static void nothing_happens_before_the_first_next(void **state)
{
    host h;
    ax_query *q;

    (void) state;
    host_begin(&h, 2, 0);
    host_table(&h, 2, 100, 10, row_plain);
    while (ax_engine_threads(h.engine) > 0)
    {
        struct timespec nap = {0, 10000000};
        nanosleep(&nap, NULL);
    }
    host_plan(&h);
    x_scan(&h, 0, NULL);
    q = host_start(&h);
    assert_int_equal(ax_engine_threads(h.engine), 0);
    ax_query_destroy(q);
    assert_int_equal(ax_engine_threads(h.engine), 0);
    host_end(&h);
}

static void missing_file_is_an_error(void **state)
{
    host h;
    ax_source *s;
    ax_query_opts o;
    ax_query *q;
    ax_batch *b;
    ax_error err;

    (void) state;
    host_begin(&h, 2, 0);
    s = host_source(&h, "fake://none");
    o = host_opts(&h);
    assert_int_equal(ax_query_open(h.engine, s, &o, &q, &err), AX_OK);
    assert_int_equal(host_next(&h, q, &b), AX_NEXT_ERROR);
    assert_int_equal(ax_query_error(q)->code, AX_ENOFILE);
    assert_int_equal(host_next(&h, q, &b), AX_NEXT_ERROR);
    ax_query_destroy(q);
    ax_source_destroy(s);
    host_end(&h);
}

/* Two partitions of the table in a folder of the store. */
static ax_source *remote_folder(host *h, char uri[2][2][48])
{
    host_table(h, 2, 100, 10, row_plain);
    for (uint32_t i = 0; i < 2; i++)
    {
        snprintf(uri[i][0], sizeof uri[i][0], "fake://d/p=%u/x.gran", i);
        snprintf(uri[i][1], sizeof uri[i][1], "fake://d/p=%u/x.gran.mrk", i);
        h->remote.blob[h->remote.nblobs++] =
            (ax_fake_blob){uri[i][0], h->bytes[0].main, h->bytes[0].nmain};
        h->remote.blob[h->remote.nblobs++] =
            (ax_fake_blob){uri[i][1], h->bytes[0].marks, h->bytes[0].nmarks};
    }
    return host_source(h, "fake://d/p=*/*.gran");
}

static void listed_files_open_without_being_asked_for(void **state)
{
    host h;
    char uri[2][2][48];
    ax_source *s;
    int stats, lists;

    (void) state;
    host_begin(&h, 2, 300);
    s = remote_folder(&h, uri);
    stats = atomic_load(&h.remote.stats);
    lists = atomic_load(&h.remote.lists);
    host_open(&h, s);
    assert_int_equal(ax_source_files(s), 2);
    assert_int_equal(ax_source_rows(s), 400);
    assert_string_equal(ax_source_file_path(s, 1), uri[1][0]);
    assert_string_equal(s->snap->file[1].lake->part_name[0], "p");
    assert_string_equal(s->snap->file[1].lake->part_value[0], "1");
    assert_int_equal(atomic_load(&h.remote.lists), lists + 3);
    assert_int_equal(atomic_load(&h.remote.stats), stats + 1); /* of the pattern */
    ax_source_destroy(s);
    host_end(&h);
}

/* Stopped while listings, questions, opens and reads are under way. */
static void openings_are_stopped_at_any_time(void **state)
{
    (void) state;
    for (uint32_t round = 0; round < 40; round++)
    {
        host h;
        char uri[2][2][48];
        ax_source *s;
        ax_query_opts o;
        ax_query *q;
        ax_batch *b;
        ax_error err;

        host_begin(&h, 2, 400);
        s = remote_folder(&h, uri);
        pthread_mutex_lock(&h.remote.lock);
        h.remote.no_cancel = round % 2 == 1;
        pthread_mutex_unlock(&h.remote.lock);
        o = host_opts(&h);
        assert_int_equal(ax_query_open(h.engine, s, &o, &q, &err), AX_OK);
        if (ax_query_next(q, &b) == AX_NEXT_WAIT)
            nanosleep(&(struct timespec){0, (long) round * 60000}, NULL);
        ax_query_destroy(q);
        ax_source_destroy(s);
        host_end(&h);
    }
}

static void read_error_ends_the_query(void **state)
{
    host h;
    ax_query *q;
    sums s;

    (void) state;
    host_begin(&h, 2, 200);
    host_table(&h, 4, N / 4, 500, row_plain);
    host_plan(&h);
    x_scan(&h, 0, NULL);
    q = host_start(&h);
    pthread_mutex_lock(&h.remote.lock);
    h.remote.fail_nth = h.remote.nasked + 7;
    pthread_mutex_unlock(&h.remote.lock);
    s = host_drain(&h, q);
    assert_int_equal(s.last, AX_NEXT_ERROR);
    assert_int_equal(ax_query_error(q)->code, AX_ENET);
    assert_string_equal(ax_query_error(q)->place.file, h.uri[0][0]);
    ax_query_destroy(q);
    host_end(&h);
}

/* limit, offset -> rows expected of 20000 */
static void limits_are_exact(void **state)
{
    static const int64_t cases[][3] = {{0, 0, 0},         {1, 0, 1},          {999, 0, 999},
                                       {5000, 100, 5000}, {30000, 0, N},      {10, 19995, 5},
                                       {10, 20000, 0},    {10, 40000, 0},     {1, 19999, 1},
                                       {-1, 15000, 5000}};

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        host h;
        sums s;

        host_begin(&h, 3, 50);
        host_table(&h, 4, N / 4, 1000, row_plain);
        host_plan(&h);
        assert_non_null(ax_plan_limit(h.plan, x_scan(&h, 0, NULL),
                                      cases[i][0] >= 0 ? x_int8(&h, cases[i][0]) : NULL,
                                      x_int8(&h, cases[i][1])));
        s = host_run(&h);
        assert_int_equal(s.last, AX_NEXT_DONE);
        assert_int_equal(s.rows, cases[i][2]);
        host_end(&h);
    }
}

static void limit_stops_the_scan(void **state)
{
    host h;
    int before;

    (void) state;
    host_begin(&h, 2, 0);
    host_table(&h, 4, N / 4, 100, row_plain);
    host_plan(&h);
    ax_plan_limit(h.plan, x_scan(&h, 0, NULL), x_int8(&h, 10), NULL);
    before = atomic_load(&ff_blocks);
    assert_int_equal(host_run(&h).rows, 10);
    assert_true(atomic_load(&ff_blocks) - before < 20);
    host_end(&h);
}

static void no_files_and_no_rows(void **state)
{
    host h;
    ax_source *none;
    ax_source_spec spec = {.format = "auto", .col = host_columns(), .ncols = FF_COLS};
    ax_error err;

    (void) state;
    host_begin(&h, 2, 0);
    host_table(&h, 0, 0, 10, row_plain);
    host_table(&h, 3, 0, 10, row_plain);
    assert_int_equal(ax_source_create(h.engine, &spec, &none, &err), AX_OK);
    host_open(&h, none);
    assert_int_equal(ax_source_files(none), 0);
    assert_int_equal(ax_source_schema(none)->n, 0);
    assert_string_equal(ax_source_format(none), "");
    h.source[h.ntables++] = none;
    for (uint32_t i = 0; i < 3; i++)
    {
        sums s;

        host_plan(&h);
        x_scan(&h, i, NULL);
        s = host_run(&h);
        assert_int_equal(s.last, AX_NEXT_DONE);
        assert_int_equal(s.rows, 0);
    }
    host_end(&h);
}

static void one_big_split_feeds_all_lanes(void **state)
{
    host h;
    ax_query *q;
    ax_profile p;
    sums s;

    (void) state;
    host_begin(&h, 2, 200);
    host_table(&h, 1, 600000, 2000, row_plain);
    host_plan(&h);
    x_scan(&h, 0, NULL);
    q = host_start(&h);
    s = host_drain(&h, q);
    assert_int_equal(s.rows, 600000);
    assert_int_equal(s.sum, 600000ll * 599999 / 2);
    ax_query_profile(q, &p);
    assert_int_equal(p.threads_peak, 2);
    assert_true(p.splits_done > 1);
    ax_query_destroy(q);
    host_end(&h);
}

/* Lanes that a scan of table i of N rows began. */
static int lanes_begun(host *h, uint32_t i)
{
    ax_arena *a = ax_arena_create(NULL, 0);
    ax_query *q;
    const char *at;
    int lanes = 0;

    host_plan(h);
    x_scan(h, i, NULL);
    q = host_start(h);
    assert_int_equal(host_drain(h, q).rows, N);
    at = strstr(ax_query_pipeline(q, a, false), "Stage 0 (");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "Stage 0 (%d lane", &lanes), 1);
    ax_query_destroy(q);
    ax_arena_destroy(a);
    return lanes;
}

static void write_file(const char *path, const uint8_t *p, size_t n)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* One processor, room for eight threads. */
static void lanes_begin_where_others_wait_for_reads(void **state)
{
    char dir[] = "/tmp/ax_scan_test.XXXXXX", main[64], marks[64];
    host h;

    (void) state;
    host_begin_on(&h, 1, 8, 2000);
    host_table(&h, 8, N / 8, 1000, row_plain);
    assert_int_equal(lanes_begun(&h, 0), 8);

    /* The same in local files, which are in memory: nothing is waited for, or hardly ever. */
    assert_non_null(mkdtemp(dir));
    snprintf(main, sizeof main, "%s/t.gran", dir);
    snprintf(marks, sizeof marks, "%s/t.gran.mrk", dir);
    write_file(main, h.bytes[0].main, h.bytes[0].nmain);
    write_file(marks, h.bytes[0].marks, h.bytes[0].nmarks);
    h.bytes[h.ntables] = (ff_bytes){0};
    h.source[h.ntables++] = host_source(&h, main);
    host_open(&h, h.source[1]);
    assert_in_range(lanes_begun(&h, 1), 1, 2);
    host_end(&h);
    (void) unlink(main);
    (void) unlink(marks);
    (void) rmdir(dir);
}

/* Ids of a sample, in the order in which they come. */
static uint32_t sample_ids(host *h, uint32_t rows, uint32_t splits, uint64_t seed, bool *seen)
{
    ax_query *q;
    ax_batch *b;
    uint32_t n = 0;

    memset(seen, 0, N * sizeof *seen);
    host_plan(h);
    ax_plan_scan_sample(x_scan(h, 0, NULL), rows, splits, seed);
    q = host_start(h);
    while (host_next(h, q, &b) == AX_NEXT_BATCH)
        for (uint32_t i = 0; i < b->nsel; i++)
        {
            int64_t id = ax_vec_value(&b->col[0], b->sel != NULL ? b->sel[i] : i).u.i;

            assert_true(id >= 0 && id < (int64_t) N && !seen[id]);
            seen[id] = true;
            n++;
        }
    ax_query_destroy(q);
    return n;
}

static void samples_have_the_size_wanted_and_no_row_twice(void **state)
{
    static bool seen[N], again[N];
    static const uint32_t sizes[] = {1, 7, 500, N / 5, N - 1, N, 2 * N};
    host h;
    uint32_t low = 0;

    (void) state;
    host_begin(&h, 3, 0);
    host_table(&h, 4, N / 4, 1000, row_plain);
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_int_equal(sample_ids(&h, sizes[i], 0, i, seen), sizes[i] < N ? sizes[i] : N);
    (void) sample_ids(&h, 500, 0, 42, seen);
    (void) sample_ids(&h, 500, 0, 42, again);
    assert_memory_equal(seen, again, sizeof seen);
    (void) sample_ids(&h, 500, 0, 43, again);
    assert_true(memcmp(seen, again, sizeof seen) != 0);

    /* Spread over all splits: half of the sample in half of the rows, ten sigma of room. */
    (void) sample_ids(&h, 4000, 0, 7, seen);
    for (uint32_t i = 0; i < N / 2; i++)
        low += seen[i];
    assert_in_range(low, 1720, 2280);

    /* Two splits, of which all rows or some. */
    assert_int_equal(sample_ids(&h, 0, 2, 5, seen), N / 2);
    assert_int_equal(sample_ids(&h, 100, 2, 5, again), 100);
    for (uint32_t i = 0; i < N; i++)
        assert_true(seen[i] || !again[i]);
    host_end(&h);
}

static void stored_order_is_kept(void **state)
{
    (void) state;
    for (uint32_t threads = 1; threads <= 4; threads++)
    {
        host h;
        ax_query *q;
        ax_batch *b;
        int64_t next = 0;

        host_begin(&h, threads, 200);
        host_table(&h, 4, N / 4, 1000, row_plain);
        host_plan(&h);
        ax_plan_scan_stored_order(x_scan(&h, 0, NULL));
        q = host_start(&h);
        while (host_next(&h, q, &b) == AX_NEXT_BATCH)
            for (uint32_t i = 0; i < b->nsel; i++)
                assert_int_equal(ax_vec_value(&b->col[0], b->sel != NULL ? b->sel[i] : i).u.i,
                                 next++);
        assert_int_equal(next, N);
        ax_query_destroy(q);
        host_end(&h);
    }
}

static void bounds_of_splits_are_told(void **state)
{
    host h;

    (void) state;
    host_begin(&h, 1, 0);
    host_table(&h, 4, N / 4, 1000, row_plain);
    for (uint32_t i = 0; i < 4; i++)
    {
        ax_bounds b;

        assert_true(ax_source_split_bounds(h.source[0], 0, i, 0, &b));
        assert_int_equal(b.min.u.i, (int64_t) i * (N / 4));
        assert_int_equal(b.max.u.i, (int64_t) (i + 1) * (N / 4) - 1);
    }
    host_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan_returns_every_row),
        cmocka_unit_test(samples_have_the_size_wanted_and_no_row_twice),
        cmocka_unit_test(stored_order_is_kept),
        cmocka_unit_test(bounds_of_splits_are_told),
        cmocka_unit_test(text_survives_the_queue),
        cmocka_unit_test(filters_prune_and_select),
        cmocka_unit_test(second_open_only_asks_for_identity),
        cmocka_unit_test(nothing_happens_before_the_first_next),
        cmocka_unit_test(missing_file_is_an_error),
        cmocka_unit_test(listed_files_open_without_being_asked_for),
        cmocka_unit_test(openings_are_stopped_at_any_time),
        cmocka_unit_test(read_error_ends_the_query),
        cmocka_unit_test(limits_are_exact),
        cmocka_unit_test(limit_stops_the_scan),
        cmocka_unit_test(no_files_and_no_rows),
        cmocka_unit_test(one_big_split_feeds_all_lanes),
        cmocka_unit_test(lanes_begin_where_others_wait_for_reads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
