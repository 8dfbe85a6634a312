/* Facts about files through the door: rows that need reads which answer late, more batches than the
 * queue holds, and every way to end. */
#include "fake_host_test.h"

#define SPLITS 4u
#define GRANULES 9u /* of a split: more batches than fit into the output queue */

static ax_query *facts(host *h, const char *table)
{
    ax_query_opts o = host_opts(h);
    ax_query *q;
    ax_error err;

    assert_int_equal(ax_query_facts(h->engine, h->source[0], table, NULL, &o, &q, &err), AX_OK);
    return q;
}

static void every_row_comes_once_and_in_order(void **state)
{
    static const uint32_t delays[] = {0, 200};

    (void) state;
    for (int d = 0; d < 2; d++)
    {
        host h;
        ax_query *q;
        ax_batch *b;
        uint32_t n = 0;

        host_begin(&h, 2, delays[d]);
        host_table(&h, SPLITS, GRANULES * 10 - 3, 10, row_plain);
        q = facts(&h, "granules");
        while (host_next(&h, q, &b) == AX_NEXT_BATCH)
            for (uint32_t i = 0; i < b->nsel; i++, n++)
            {
                ax_value head = ax_vec_value(&b->col[2], i);

                assert_int_equal(b->split, 0);
                assert_int_equal(ax_vec_value(&b->col[0], i).u.i, n / GRANULES);
                assert_int_equal(ax_vec_value(&b->col[1], i).u.i,
                                 n % GRANULES == GRANULES - 1 ? 7 : 10);
                assert_int_equal(head.null, n % 2 == 1);
                if (!head.null) /* the first id of the granule, as it lies in the file */
                {
                    int64_t id = (int64_t) (n / GRANULES * (GRANULES * 10 - 3) + n % GRANULES * 10);

                    for (int k = 0; k < 8; k++)
                        assert_int_equal(head.u.s.p[k] ^ 0x5a, (uint8_t) ((uint64_t) id >> 8 * k));
                }
            }
        assert_int_equal(n, SPLITS * GRANULES);
        assert_int_equal(host_next(&h, q, &b), AX_NEXT_DONE);
        assert_int_equal(ax_engine_threads(h.engine), 0); /* the host's thread did it */
        ax_query_destroy(q);
        host_end(&h);
    }
}

/* Unread, half read, with reads under way: nothing is left. */
static void it_may_end_at_any_time(void **state)
{
    (void) state;
    for (int take = 0; take < 4; take++)
    {
        host h;
        ax_query *q;
        ax_batch *b;

        host_begin(&h, 2, 500);
        host_table(&h, SPLITS, GRANULES * 10, 10, row_plain);
        q = facts(&h, "granules");
        for (int i = 0; i < take; i++)
            assert_int_equal(host_next(&h, q, &b), AX_NEXT_BATCH);
        (void) ax_query_next(q, &b);
        if (take == 3)
            ax_query_stop(q);
        ax_query_destroy(q);
        host_end(&h);
    }
}

static void a_table_that_the_format_lacks_is_an_error(void **state)
{
    host h;
    ax_query *q;
    ax_batch *b;

    (void) state;
    host_begin(&h, 1, 0);
    host_table(&h, 1, 10, 10, row_plain);
    q = facts(&h, "weather");
    assert_int_equal(host_next(&h, q, &b), AX_NEXT_ERROR);
    assert_int_equal(ax_query_error(q)->code, AX_EOPTION);
    assert_non_null(strstr(ax_query_error(q)->msg, "weather"));
    assert_string_equal(ax_query_error(q)->place.file, h.uri[0][0]);
    ax_query_destroy(q);
    host_end(&h);
}

/* A list has names and sizes, and opens nothing. */
static void a_list_opens_nothing(void **state)
{
    host h;
    ax_query_opts o;
    ax_query *q;
    ax_batch *b;
    ax_error err;
    ax_source *s;
    ax_file_facts f;
    int before;

    (void) state;
    host_begin(&h, 1, 100);
    host_table(&h, 1, 10, 10, row_plain);
    before = atomic_load(&ff_opens);
    s = host_source(&h, h.uri[0][0]);
    o = host_opts(&h);
    assert_int_equal(ax_query_list(h.engine, s, &o, &q, &err), AX_OK);
    assert_int_equal(host_next(&h, q, &b), AX_NEXT_DONE);
    ax_query_destroy(q);
    assert_int_equal(ax_source_files(s), 1);
    assert_string_equal(ax_source_file_path(s, 0), h.uri[0][0]);
    assert_null(ax_source_file(s, 0));
    if (ax_source_file_facts(s, 0, &f))
        assert_int_equal(f.size, h.bytes[0].nmain);
    assert_int_equal(atomic_load(&ff_opens), before);
    /* facts need files that are open */
    assert_int_equal(ax_query_facts(h.engine, s, "granules", NULL, &o, &q, &err), AX_OK);
    assert_int_equal(host_next(&h, q, &b), AX_NEXT_ERROR);
    ax_query_destroy(q);
    ax_source_destroy(s);
    host_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_comes_once_and_in_order),
        cmocka_unit_test(it_may_end_at_any_time),
        cmocka_unit_test(a_table_that_the_format_lacks_is_an_error),
        cmocka_unit_test(a_list_opens_nothing),
    };

    return cmocka_run_group_tests_name("ax facts", tests, NULL, NULL);
}
