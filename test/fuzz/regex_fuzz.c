/* Regular expressions: any pattern, any string.  Neither may crash, hang, or use memory without
 * bound; and on ASCII strings the chosen machine must agree with the plain automaton.
 *
 * Input: flags, length of the pattern, pattern, string. */
#include "func/regex_int.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_ascii(const uint8_t *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (s[i] >= 0x80 || s[i] == 0)
            return false;
    return true;
}

static void check_match(ax_task *t, const uint8_t *p, uint32_t n, uint32_t flags, const uint8_t *s,
                        uint32_t m)
{
    ax_regex *re;
    re_tree tree;
    re_dfa dfa;
    uint8_t got;

    if (ax_regex_compile(t, t->arena, p, n, flags, &re) != AX_OK)
        return;
    got = ax_regex_match(re, s, m);
    if (!is_ascii(s, m) || ax_re_parse(t, t->arena, p, n, flags, &tree) != AX_OK
        || ax_re_dfa(t, t->arena, &tree.root, 1, RE_SEARCH, &dfa) != AX_OK)
        return;
    if (got != ax_re_dfa_run(&dfa, s, m))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t rep[] = "\\1<\\2\\&\\\\";
    ax_budget budget;
    ax_task t;
    ax_reseq *q;
    uint8_t *p, *s;
    uint32_t n, m;

    if (size < 2 || size > 20000)
        return 0;
    n = data[1] < size - 2 ? data[1] : (uint32_t) size - 2;
    m = (uint32_t) size - 2 - n;
    ax_budget_init(&budget, "fuzz", INT64_C(64) << 20, NULL);
    if (ax_task_init(&t, &budget, NULL) != AX_OK)
        return 0;
    /* the pattern ends where its memory ends; strings are readable behind their end */
    p = (uint8_t *) malloc(n > 0 ? n : 1);
    s = (uint8_t *) malloc(m + AX_PAD);
    memcpy(p, data + 2, n);
    memcpy(s, data + 2 + n, m);
    memset(s + m, 'a', AX_PAD);
    check_match(&t, p, n, data[0] & 3, s, m);
    ax_error_clear(&t.err);
    if (ax_reseq_compile(&t, t.arena, p, n, rep, sizeof rep - 1, data[0] & 2, &q) == AX_OK)
    {
        const uint8_t *out;
        uint32_t out_n;

        if (!ax_reseq_replace(q, t.arena, s, m, &out, &out_n))
            abort();
        (void) ax_reseq_substring(q, s, m, &out_n);
    }
    free(p);
    free(s);
    ax_task_fini(&t);
    return 0;
}
