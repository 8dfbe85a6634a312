/* Regular expressions against PostgreSQL's own answers (test/golden/regex.tsv), limits, reasons.
 *
 * AX_REGEX_CASES names another table of the same form; tools/gen/func_golden.py makes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "func/regex_int.h"

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

/* A copy with readable bytes behind it that would match if they were looked at. */
static const uint8_t *padded(const char *s, uint32_t n)
{
    uint8_t *p = (uint8_t *) ax_arena_values(task.arena, n + AX_PAD);

    memcpy(p, s, n);
    memset(p + n, 'a', AX_PAD);
    return p;
}

static ax_regex *compile(const char *p, uint32_t flags)
{
    ax_regex *re = NULL;

    ax_error_clear(&task.err);
    if (ax_regex_compile(&task, task.arena, (const uint8_t *) p, (uint32_t) strlen(p), flags, &re)
        != AX_OK)
    {
        assert_int_equal(task.err.code, AX_EUNSUPPORTED);
        return NULL;
    }
    return re;
}

static ax_reseq *compile_seq(const char *p, const char *rep)
{
    ax_reseq *q = NULL;

    ax_error_clear(&task.err);
    if (ax_reseq_compile(&task, task.arena, (const uint8_t *) p, (uint32_t) strlen(p),
                         (const uint8_t *) rep, (uint32_t) strlen(rep), AX_RE_CTYPE_C, &q) != AX_OK)
    {
        assert_int_equal(task.err.code, AX_EUNSUPPORTED);
        return NULL;
    }
    return q;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Undo COPY's escapes in place. */
static void unescape(char *s)
{
    char *to = s;

    for (; *s != '\0'; s++)
    {
        if (*s != '\\')
        {
            *to++ = *s;
            continue;
        }
        s++;
        *to++ = *s == 'n' ? '\n' : *s == 't' ? '\t' : *s == 'r' ? '\r' : *s == 'b' ? '\b'
              : *s == 'f' ? '\f' : *s == 'v' ? '\v' : *s;
    }
    *to = '\0';
}

static uint32_t asked, answered, refused, replaced, not_sequential, wrong;

static void complain(const char *const *f, const char *got)
{
    if (wrong++ < 20)
        print_error("%s  pattern <%s>  string <%s>  replacement <%s>: want <%s>, got <%s>\n", f[0],
                    f[1], f[2], f[3], f[4], got);
}

static void check_match(const char *const *f)
{
    static const uint32_t flags[] = {['m'] = 0, ['c'] = AX_RE_CTYPE_C,
                                     ['i'] = AX_RE_CTYPE_C | AX_RE_ICASE};
    const ax_regex *re = compile(f[1], flags[(uint8_t) f[0][0]]);
    uint32_t n = (uint32_t) strlen(f[2]);
    uint8_t got;

    if (re == NULL)
    {
        refused++;
        return;
    }
    got = ax_regex_match(re, padded(f[2], n), n);
    if (got == AX_RE_ASK)
    {
        asked++;
        assert_true(ax_regex_may_ask(re));
        return;
    }
    answered++;
    if (f[4][0] != (got == AX_RE_YES ? 't' : 'f'))
        complain(f, got == AX_RE_YES ? "t" : "f");
}

static void check_replace(const char *const *f, bool null)
{
    const ax_reseq *q = compile_seq(f[1], f[3]);
    uint32_t n = (uint32_t) strlen(f[2]), m = 0;
    const uint8_t *s = padded(f[2], n), *r;
    char got[1000];

    if (q == NULL)
    {
        not_sequential++;
        return;
    }
    replaced++;
    if (f[0][0] == 's')
        r = ax_reseq_substring(q, s, n, &m);
    else
        assert_true(ax_reseq_replace(q, task.arena, s, n, &r, &m));
    if (r == NULL)
    {
        if (!null)
            complain(f, "null");
        return;
    }
    snprintf(got, sizeof got, "%.*s", (int) m, (const char *) r);
    if (null || strlen(f[4]) != m || memcmp(f[4], r, m) != 0)
        complain(f, got);
}

static void answers_are_those_of_the_server(void **state)
{
    const char *path = getenv("AX_REGEX_CASES");
    char line[4096];
    uint32_t lines = 0;
    FILE *in = fopen(path != NULL ? path : "test/golden/regex.tsv", "r");

    (void) state;
    assert_non_null(in);
    while (fgets(line, sizeof line, in) != NULL)
    {
        const char *f[5];
        char *at = line;
        bool null;

        line[strcspn(line, "\n")] = '\0';
        for (uint32_t i = 0; i < 5; i++)
        {
            f[i] = at;
            at = strchr(at, '\t');
            if (at != NULL)
                *at++ = '\0';
            else
                assert_int_equal(i, 4);
        }
        null = strcmp(f[4], "\\N") == 0;
        for (uint32_t i = 1; i < 5; i++)
            unescape((char *) (uintptr_t) f[i]);
        lines++;
        if (strchr("mci", f[0][0]) != NULL)
            check_match(f);
        else
            check_replace(f, null);
        ax_arena_reset(task.arena);
    }
    fclose(in);
    if (path != NULL)
        print_message("%u cases: %u answered, %u asked, %u refused; %u replaced, %u not "
                      "sequential\n", lines, answered, asked, refused, replaced, not_sequential);
    assert_int_equal(wrong, 0);
    assert_true(lines > 2500);
    assert_true(answered > 4 * refused);
    assert_true(replaced > not_sequential / 2);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void refusals_say_why(void **state)
{
    static const char *const cases[][2] = {
        {"(a)\\1", "back references"}, {"(?i)a", "(? is supported only as (?:"},
        {"a(?=b)", "(? is supported only as (?:"}, {"***=a", "without something to repeat"},
        {"\\ya", "word boundaries"}, {"[[.a.]]", "collating"}, {"[[=a=]]", "collating"},
        {"[[:punct:]]", "character class"}, {"(", "not balanced"}, {")", "not balanced"},
        {"a**", "without something to repeat"}, {"^*", "without something to repeat"},
        {"a{1", "bound"}, {"a{2,1}", "bound"}, {"a{256}", "more than 255"}, {"a{0}", "zero"},
        {"[b-a]", "before its start"}, {"[a", "not balanced"}, {"a\\", "backslash"},
        {"(a|b)*a(a|b){12}", "too large"}, {"(.{200}){200}", "too large"},
    };

    (void) state;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
        assert_null(compile(cases[i][0], 0));
        if (strstr(task.err.msg, cases[i][1]) == NULL)
            fail_msg("%s: %s", cases[i][0], task.err.msg);
        ax_arena_reset(task.arena);
    }
    assert_null(compile("\xc3\xa9", AX_RE_ICASE));
    assert_null(compile_seq("a", ""));
    assert_null(compile_seq("^a|b$", ""));
    assert_null(compile_seq("^a*?b$", ""));
    assert_null(compile_seq("^(a|b)$", ""));
    assert_null(compile_seq("^(ab)*$", ""));
    assert_null(compile_seq("^a*a*b$", ""));
    assert_null(compile_seq("^a?(?:ab)?(b?)$", ""));
}

static uint8_t answer(const char *p, uint32_t flags, const char *s)
{
    const ax_regex *re = compile(p, flags);

    assert_non_null(re);
    return ax_regex_match(re, padded(s, (uint32_t) strlen(s)), (uint32_t) strlen(s));
}

static void characters_that_collations_disagree_about_are_asked(void **state)
{
    (void) state;
    assert_int_equal(answer("^\\w+$", 0, "az_09"), AX_RE_YES);
    assert_int_equal(answer("^\\w+$", 0, "a\xc3\xa9"), AX_RE_ASK);
    assert_int_equal(answer("^\\w+$", 0, "a-\xc3\xa9"), AX_RE_NO);
    assert_int_equal(answer("^[^\\d]+$", 0, "\xc3\xa9"), AX_RE_ASK);
    assert_int_equal(answer("x|\\d", 0, "\xc3\xa9x"), AX_RE_YES);
    assert_int_equal(answer("\\s", 0, "\x1c"), AX_RE_ASK);
    assert_int_equal(answer("^\\w+$", AX_RE_CTYPE_C, "a\xc3\xa9"), AX_RE_NO);
    assert_int_equal(answer("^\\W$", AX_RE_CTYPE_C, "\xc3\xa9"), AX_RE_YES);
    assert_int_equal(answer("^[[:xdigit:]]$", 0, "\xc3\xa9"), AX_RE_NO);
}

/* Rows one by one and as a span must agree. */
static void spans_and_rows_agree(void **state)
{
    static const char *const patterns[] = {"ab", "[0-9][a-z]", "b[0-9]+c", "^b", "c$", ".", "b.*c0",
                                           "[a-c][0-9]{2}[a-cx]"};
    enum { ROWS = 300 };
    uint32_t off[ROWS], len[ROWS], at = 0;
    uint8_t *bytes = (uint8_t *) ax_arena_values(task.arena, ROWS * 90), one[ROWS + 64],
            all[ROWS + 64];
    ax_strs s = {bytes, off, NULL, len};

    (void) state;
    for (uint32_t i = 0; i < ROWS; i++)
    {
        at += i % 7 == 0 ? 3 : 0; /* gaps */
        off[i] = at;
        len[i] = i % 11 == 0 ? 0 : i * 31 % 80;
        for (uint32_t k = 0; k < len[i] + 4; k++)
            bytes[at + k] = (uint8_t) "abc01x"[(at * 7 + k * k * 13 + i) % 6];
        at += len[i];
    }
    for (uint32_t p = 0; p < sizeof patterns / sizeof *patterns; p++)
    {
        const ax_regex *re = compile(patterns[p], 0);

        assert_non_null(re);
        ax_regex_match_rows(re, &s, NULL, ROWS, true, ROWS, all);
        ax_regex_match_rows(re, &s, NULL, ROWS, false, ROWS, one);
        assert_memory_equal(one, all, ROWS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_server),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(characters_that_collations_disagree_about_are_asked),
        cmocka_unit_test(spans_and_rows_agree),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
