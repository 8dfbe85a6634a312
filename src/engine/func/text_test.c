/* Functions of text against PostgreSQL's own answers (test/golden/text.tsv).
 *
 * AX_TEXT_CASES names another table of the same form; tools/gen/func_golden.py makes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "func/call_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ax_budget budget;
static ax_task task;

static int set_up(void **state)
{
    (void) state;
    ax_budget_init(&budget, "query", INT64_MAX, NULL);
    return ax_task_init(&task, &budget, NULL) != AX_OK;
}

static int tear_down(void **state)
{
    (void) state;
    ax_task_fini(&task);
    return 0;
}

static ax_text padded(const char *s)
{
    uint32_t n = (uint32_t) strlen(s);
    uint8_t *p = (uint8_t *) ax_arena_values(task.arena, n + AX_PAD);

    memcpy(p, s, n);
    memset(p + n, ' ', AX_PAD);
    return (ax_text){p, n};
}

static void unescape(char *s)
{
    char *to = s;

    for (; *s != '\0'; s++)
    {
        if (*s == '\\')
        {
            s++;
            *s = *s == 'n' ? '\n' : *s == 't' ? '\t' : *s == 'r' ? '\r' : *s == 'b' ? '\b'
               : *s == 'f' ? '\f' : *s == 'v' ? '\v' : *s;
        }
        *to++ = *s;
    }
    *to = '\0';
}

/* ---- one case: the answer as text, or "E" and the SQLSTATE that the server would raise ------- */

typedef struct args { ax_text a, b, c; int32_t i, j; } args;

static ax_text from_c(const char *s)
{
    return (ax_text){(const uint8_t *) s, (uint32_t) strlen(s)};
}

static ax_text from_bool(bool v) { return from_c(v ? "true" : "false"); }

static ax_text from_int(int32_t v)
{
    static char text[16];

    snprintf(text, sizeof text, "%d", v);
    return from_c(text);
}

static ax_needle needle(ax_text s) { return s.n > 0 ? ax_needle_make(s.p, s.n) : (ax_needle){0}; }

static bool run_slice(const char *f, const args *x, ax_text *out)
{
    ax_text blank = padded(" ");
    ax_needle nd = needle(x->b);
    bool one = f[0] != '\0' && f[strlen(f) - 1] == '1';

    if (strcmp(f, "left") == 0)
        *out = ax_text_left(x->a, x->i);
    else if (strcmp(f, "right") == 0)
        *out = ax_text_right(x->a, x->i);
    else if (strcmp(f, "substring2") == 0)
        *out = ax_text_substring_from(x->a, x->i);
    else if (strcmp(f, "substring3") == 0)
        *out = x->j < 0 ? from_c("E22011") : ax_text_substring(x->a, x->i, x->j);
    else if (strstr(f, "trim") != NULL)
        *out = ax_text_trim(x->a, one ? blank : x->b, f[0] != 'r', f[0] != 'l');
    else if (strcmp(f, "split_part") == 0)
        *out = x->j == 0 ? from_c("E22023") : ax_text_split_part(x->a, &nd, x->b.n, x->j);
    else if (strcmp(f, "starts_with") == 0)
        *out = from_bool(ax_text_starts_with(x->a, x->b));
    else if (strcmp(f, "strpos") == 0)
        *out = from_int(ax_text_position(x->a, &nd, x->b.n));
    else if (strcmp(f, "ascii") == 0)
        *out = from_int(ax_text_ascii(x->a));
    else if (strcmp(f, "hashtext") == 0)
        *out = from_int(ax_text_hash(x->a));
    else
        return false;
    return true;
}

static bool run_built(const char *f, const args *x, ax_text *out)
{
    ax_arena *m = task.arena;
    ax_needle nd = needle(x->b);

    if (strcmp(f, "lower") == 0)
        return ax_text_lower(m, x->a, out);
    if (strcmp(f, "upper") == 0)
        return ax_text_upper(m, x->a, out);
    if (strcmp(f, "replace") == 0)
        return ax_text_replace(m, x->a, &nd, x->b.n, x->c, out);
    if (strcmp(f, "concat") == 0)
        return ax_text_concat(m, x->a, x->b, out);
    if (strcmp(f, "reverse") == 0)
        return ax_text_reverse(m, x->a, out);
    if (strcmp(f, "repeat") == 0)
        return ax_text_repeat(m, x->a, x->i, out);
    if (strcmp(f, "lpad") == 0 || strcmp(f, "rpad") == 0)
        return ax_text_pad(m, x->a, x->i, x->c, f[0] == 'l', out);
    if (strcmp(f, "translate") == 0)
        return ax_text_translate(m, x->a, x->b, x->c, out);
    if (strcmp(f, "chr") == 0)
    {
        if (!ax_text_chr(m, x->i, out))
            *out = from_c(x->i < 0 ? "E22023" : "E54000");
        return true;
    }
    return false;
}

/* false: the host would be asked. */
static bool run_ilike(const char *f, const args *x, ax_text *out)
{
    bool plain = strcmp(f, "ilike_default") == 0;
    uint8_t *fold = (uint8_t *) ax_arena_values(task.arena, x->a.n + AX_PAD), got;
    ax_like like;

    assert_int_equal(ax_ilike_compile(&task, task.arena, x->b.p, x->b.n, plain, &like), AX_OK);
    got = ax_ilike_match(&like, x->a, plain, fold);
    *out = from_bool(got == 1);
    return got != 2;
}

static void answers_are_those_of_the_server(void **state)
{
    const char *path = getenv("AX_TEXT_CASES");
    char line[4096];
    uint32_t lines = 0, asked = 0, wrong = 0;
    FILE *in = fopen(path != NULL ? path : "test/golden/text.tsv", "r");

    (void) state;
    assert_non_null(in);
    while (fgets(line, sizeof line, in) != NULL)
    {
        char *f[5], *at = line;
        ax_text got = {0};
        args x;

        line[strcspn(line, "\n")] = '\0';
        for (uint32_t i = 0; i < 5; i++)
        {
            f[i] = at;
            at = strchr(at, '\t');
            if (at != NULL)
                *at++ = '\0';
            unescape(f[i]);
        }
        lines++;
        x = (args){padded(f[1]), padded(f[2]), padded(f[3]), atoi(f[2]), atoi(f[3])};
        if (strncmp(f[0], "ilike", 5) == 0)
        {
            if (!run_ilike(f[0], &x, &got))
            {
                asked++;
                continue;
            }
        }
        else if (!run_slice(f[0], &x, &got))
            assert_true(run_built(f[0], &x, &got));
        if (got.n != strlen(f[4]) || memcmp(got.p, f[4], got.n) != 0)
        {
            if (wrong++ < 20)
                print_error("%s(<%s>, <%s>, <%s>): want <%s>, got <%.*s>\n", f[0], f[1], f[2], f[3],
                            f[4], (int) got.n, (const char *) got.p);
        }
        ax_arena_reset(task.arena);
    }
    fclose(in);
    if (path != NULL)
        print_message("%u cases, %u asked\n", lines, asked);
    assert_int_equal(wrong, 0);
    assert_true(lines > 1500);
    assert_true(asked < lines / 20);
}

static void what_is_too_long_is_refused(void **state)
{
    ax_text s = padded("abc"), out;

    (void) state;
    assert_false(ax_text_repeat(task.arena, s, INT32_MAX, &out));
    assert_false(ax_text_pad(task.arena, s, INT32_MAX, s, true, &out));
    assert_true(ax_text_pad(task.arena, s, INT32_MAX, padded(""), true, &out));
    assert_int_equal(out.n, 3);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static ax_value const_text(const char *s)
{
    ax_text x = padded(s);
    ax_value v = {.type = ax_type_make(AX_T_TEXT)};

    v.u.s.p = x.p;
    v.u.s.len = x.n;
    return v;
}

static ax_value const_int(int32_t i)
{
    ax_value v = {.type = ax_type_make(AX_T_INT4)};

    v.u.i = i;
    return v;
}

enum { ROWS = 4 };

typedef struct rows
{
    ax_vec vec[AX_FN_MAX_ARGS];
    ax_call_io io;
} rows;

/* Rows "http://www.a.b/c", "xyz" (null), "", "aXbXc"; the last one is not selected. */
static ax_status run_call(ax_fn fn, const ax_value *more, uint32_t n_more, rows *r)
{
    static const uint16_t sel[] = {0, 1, 2};
    static const char text[] = "http://www.a.b/cxyzaXbXc";
    static const uint32_t off[] = {0, 16, 19, 19}, len[] = {16, 3, 0, 5};
    static uint8_t null[] = {0, 1, 0, 0};
    const ax_value *konst[AX_FN_MAX_ARGS] = {NULL};
    ax_type types[AX_FN_MAX_ARGS] = {ax_type_make(AX_T_TEXT)};
    ax_call *c;

    r->vec[0] = (ax_vec){.kind = AX_VK_FLAT, .type = types[0], .n = ROWS, .null = null};
    r->vec[0].u.str.base = padded(text).p;
    r->vec[0].u.str.off = off;
    r->vec[0].u.str.len = len;
    r->io = (ax_call_io){.n = ROWS, .sel = sel, .nsel = 3, .arena = task.arena};
    for (uint32_t i = 1; i <= n_more; i++)
    {
        konst[i] = &more[i - 1];
        types[i] = more[i - 1].type;
        assert_int_equal(ax_vec_const(&task, task.arena, konst[i], ROWS, &r->vec[i]), AX_OK);
    }
    for (uint32_t i = 0; i <= n_more; i++)
        r->io.arg[i] = &r->vec[i];
    r->io.data = ax_arena_values(task.arena, 8 * (ROWS + 64));
    r->io.len = (uint32_t *) ax_arena_values(task.arena, 4 * (ROWS + 64));
    r->io.null = (uint8_t *) ax_arena_values(task.arena, ROWS + 64);
    if (ax_call_bind(&task, task.arena, fn, types, konst, n_more + 1, &c) != AX_OK)
        return AX_STATUS_CNT;
    return ax_call_run(c, &r->io);
}

static void check_row(const rows *r, uint32_t row, const char *want)
{
    bool null = r->io.has_null && r->io.null[row];

    assert_int_equal(null, want == NULL);
    if (want == NULL)
        return;
    assert_int_equal(r->io.len[row], strlen(want));
    assert_memory_equal(((const uint8_t **) r->io.data)[row], want, strlen(want));
}

static void calls_run_on_selected_rows_and_skip_nulls(void **state)
{
    ax_value more[3] = {const_text("^http://(?:www\\.)?([^/]+)/.*$"), const_text("<\\1>"),
                        const_text("g")};
    rows r;

    (void) state;
    assert_int_equal(run_call(AX_FN_REGEXP_REPLACE, more, 2, &r), AX_OK);
    check_row(&r, 0, "<a.b>");
    check_row(&r, 1, NULL);
    check_row(&r, 2, "");
    assert_int_equal(run_call(AX_FN_REGEXP_REPLACE_FLAGS, more, 3, &r), AX_OK);
    check_row(&r, 0, "<a.b>");
    assert_int_equal(run_call(AX_FN_REGEXP_SUBSTRING, more, 1, &r), AX_OK);
    check_row(&r, 0, "a.b");
    check_row(&r, 1, NULL);
    check_row(&r, 2, NULL);
    more[2] = const_text("i");
    assert_int_equal(run_call(AX_FN_REGEXP_REPLACE_FLAGS, more, 3, &r), AX_STATUS_CNT);
    assert_int_equal(task.err.code, AX_EUNSUPPORTED);
    ax_error_clear(&task.err);
    assert_int_equal(run_call(AX_FN_NOT_REGEX, more, 1, &r), AX_OK);
    assert_int_equal(((uint8_t *) r.io.data)[0], 0);
    assert_int_equal(((uint8_t *) r.io.data)[2], 1);
    more[0] = const_text("t");
    assert_int_equal(run_call(AX_FN_UPPER, NULL, 0, &r), AX_OK);
    check_row(&r, 0, "HTTP://WWW.A.B/C");
    assert_int_equal(run_call(AX_FN_REPLACE, more, 2, &r), AX_OK);
    check_row(&r, 0, "h<\\1><\\1>p://www.a.b/c");
    check_row(&r, 2, "");
    assert_int_equal(run_call(AX_FN_CONCAT, more, 1, &r), AX_OK);
    check_row(&r, 2, "t");
    check_row(&r, 1, NULL);
    more[0] = const_text("%WWW.__B%");
    assert_int_equal(run_call(AX_FN_ILIKE, more, 1, &r), AX_OK);
    assert_int_equal(((uint8_t *) r.io.data)[0], 1);
}

static void calls_that_raise_name_the_row(void **state)
{
    ax_value more[2] = {const_int(2), const_int(-1)};
    rows r;

    (void) state;
    assert_int_equal(run_call(AX_FN_SUBSTRING, more, 2, &r), AX_ESUBSTRING);
    assert_int_equal(r.io.fail_row, 0);
    more[1] = const_int(3);
    assert_int_equal(run_call(AX_FN_SUBSTRING, more, 2, &r), AX_OK);
    check_row(&r, 0, "ttp");
    more[0] = const_text("/");
    more[1] = const_int(0);
    assert_int_equal(run_call(AX_FN_SPLIT_PART, more, 2, &r), AX_EPARAM);
    more[1] = const_int(-1);
    assert_int_equal(run_call(AX_FN_SPLIT_PART, more, 2, &r), AX_OK);
    check_row(&r, 0, "c");
    check_row(&r, 2, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_run_on_selected_rows_and_skip_nulls),
        cmocka_unit_test(calls_that_raise_name_the_row),
        cmocka_unit_test(answers_are_those_of_the_server),
        cmocka_unit_test(what_is_too_long_is_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
