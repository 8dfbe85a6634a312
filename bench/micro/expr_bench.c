/* What filters and expressions cost: kernels in cache, LIKE over a page and row by row, a filter
 * step with and without a dictionary.  Prints one line a measurement; AX_CPU lowers the level. */
#include "bench.h"

#include "base/cpu.h"

#define ROWS AX_BATCH_ROWS

static void *values(size_t bytes)
{
    void *p = ax_arena_values(task.arena, bytes + 64);

    if (p == NULL)
        exit(1);
    return p;
}

static void bench_kernels(void)
{
    static const char *const types[] = {"u8", "i16", "i32", "i64", "f32", "f64"};
    const ax_kernels *k = ax_k_get();
    uint8_t *a = values(ROWS * 8), *b = values(ROWS * 8), *out = values(ROWS * 8);
    uint16_t *sel = values(ROWS * 2 + 64);

    memset(a, 0, ROWS * 8);
    memset(b, 0, ROWS * 8);
    for (uint32_t kt = 0; kt < AX_KT_CNT; kt++)
    {
        double t0 = now_ns(), t1, t2;

        for (uint32_t i = 0; i < 20000; i++)
            k->cmp[kt][AX_KC_GT][1](a, b, out, ROWS);
        t1 = now_ns();
        for (uint32_t i = 0; kt > 0 && i < 20000; i++)
            k->arith[kt][AX_KA_ADD][AX_KS_VC](a, b, out, ROWS);
        t2 = now_ns();
        printf("%s > const %.3f ns/row, + const %.3f ns/row\n", types[kt], (t1 - t0) / 20000 / ROWS,
               (t2 - t1) / 20000 / ROWS);
    }
    for (uint32_t pct = 1; pct <= 100; pct += 49)
    {
        double t0;

        for (uint32_t i = 0; i < ROWS; i++)
            a[i] = rnd(100) < pct;
        t0 = now_ns();
        for (uint32_t i = 0; i < 20000; i++)
            k->mask_to_sel(a, ROWS, sel);
        printf("mask to selection, %u %% pass %.3f ns/row\n", pct, (now_ns() - t0) / 20000 / ROWS);
    }
}

/* Windows over strings that look like URLs, as a PLAIN page has them. */
static ax_vec url_window(uint32_t max_len)
{
    ax_vec v = {.kind = AX_VK_FLAT, .type = ax_type_make(AX_T_TEXT), .n = ROWS};
    uint32_t *off = values(ROWS * 4), *len = values(ROWS * 4), at = 4;
    uint8_t *page = values((size_t) ROWS * (max_len + 40));

    for (uint32_t i = 0; i < ROWS; i++)
    {
        off[i] = at;
        len[i] = put_url(page + at, rnd(max_len) + 1, 2000);
        at += len[i];
        memcpy(page + off[i] - 4, &len[i], 4);
        at += 4;
    }
    v.u.str.base = page;
    v.u.str.off = off;
    v.u.str.len = len;
    return v;
}

static void bench_filter(const char *what, ax_vec *col, ax_fn fn, const ax_value *konst,
                         uint64_t bytes)
{
    filter f = make_filter(col->type, fn, konst);
    uint32_t pass = 0, rounds = 2000;
    double t0 = now_ns();

    for (uint32_t i = 0; i < rounds; i++)
        pass = filter_step(&f, col);
    t0 = (now_ns() - t0) / rounds;
    printf("%-34s %.3f ns/row", what, t0 / ROWS);
    if (bytes > 0)
        printf(", %.2f GB/s", (double) bytes / t0);
    printf(", %u of %u pass\n", pass, ROWS);
    ax_arena_destroy(f.a);
}

static ax_value text(const char *s)
{
    ax_value v = {.type = ax_type_make(AX_T_TEXT)};

    v.u.s.p = (const uint8_t *) s;
    v.u.s.len = (uint32_t) strlen(s);
    return v;
}

static void bench_text(uint32_t max_len)
{
    ax_vec v = url_window(max_len), view;
    ax_value google = text("%google%"), head = text("http://%"), none = text("");
    ax_value mixed = text("%search%google%");
    uint64_t bytes = v.u.str.off[ROWS - 1] + v.u.str.len[ROWS - 1];

    must(ax_vec_gather(&task, task.arena, &v, NULL, ROWS, true, &view));
    printf("strings of %u bytes on average\n", (uint32_t) (bytes / ROWS - 4));
    bench_filter("like '%google%', page", &v, AX_FN_LIKE, &google, bytes);
    bench_filter("like '%google%', rows", &view, AX_FN_LIKE, &google, bytes);
    bench_filter("like '%search%google%', page", &v, AX_FN_LIKE, &mixed, bytes);
    bench_filter("like 'http://%'", &v, AX_FN_LIKE, &head, bytes);
    bench_filter("<> ''", &v, AX_FN_NE, &none, 0);
}

static void bench_dict(void)
{
    ax_vec vals = url_window(60), v = {.kind = AX_VK_DICT, .type = vals.type, .n = ROWS};
    ax_dict d = {.n = ROWS, .uid = 1, .val = vals, .arena = task.arena};
    uint32_t *id = values(ROWS * 4);
    ax_value google = text("%google%");

    for (uint32_t i = 0; i < ROWS; i++)
        id[i] = rnd(ROWS);
    v.u.dict.id = id;
    v.u.dict.dict = &d;
    bench_filter("like '%google%', dictionary", &v, AX_FN_LIKE, &google, 0);
}

static void bench_ints(void)
{
    ax_vec v = {.kind = AX_VK_FLAT, .type = ax_type_make(AX_T_INT2), .n = ROWS};
    ax_value zero = {.type = ax_type_make(AX_T_INT4)};
    int16_t *x = values(ROWS * 2);

    for (uint32_t i = 0; i < ROWS; i++)
        x[i] = (int16_t) (rnd(10) == 0);
    v.u.data = x;
    bench_filter("int2 <> 0, one step", &v, AX_FN_NE, &zero, 0);
}

int main(void)
{
    bench_begin();
    printf("level %s\n", ax_cpu_name(ax_cpu_get()));
    bench_kernels();
    bench_ints();
    bench_text(10);
    bench_text(140);
    bench_dict();
    ax_task_fini(&task);
    return 0;
}
