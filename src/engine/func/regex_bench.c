/* How long regular expressions take: `make bench`, or build/gcc/bench/.../regex_bench.
 *
 * Rows are made up: URLs of 60 bytes on average, and random printable strings of 5 to 10. */
#include "func/regex.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ROWS = 2048, ROUNDS = 400 };

typedef struct column
{
    uint8_t *bytes;
    uint32_t off[ROWS], len[ROWS];
} column;

static ax_budget budget;
static ax_task task;
static uint64_t seed = 42;

static uint32_t below(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t) (seed >> 33) % n;
}

static void make_urls(column *c)
{
    static const char *const hosts[] = {"example.com", "www.example.org", "shop.site.net", "a.de",
                                        "www.long-name-of-a-host.co.uk", "news.example.info"};
    uint32_t at = 0;

    for (uint32_t i = 0; i < ROWS; i++)
    {
        char *p = (char *) c->bytes + at;
        int n = sprintf(p, "%s://%s/", below(3) ? "http" : "https", hosts[below(6)]);

        for (uint32_t k = below(60); k > 0; k--)
            p[n++] = "abcdefghijklmnop0123456789/-_?=&"[below(32)];
        c->off[i] = at;
        c->len[i] = (uint32_t) n;
        at += (uint32_t) n;
    }
}

static void make_short(column *c)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < ROWS; i++)
    {
        c->off[i] = at;
        c->len[i] = 5 + below(6);
        for (uint32_t k = 0; k < c->len[i]; k++)
            c->bytes[at++] = (uint8_t) (32 + below(95));
    }
}

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double) t.tv_sec + (double) t.tv_nsec;
}

/* Others use the machine too: the best round counts. */
static void keep_least(double *best, double t)
{
    if (t < *best)
        *best = t;
}

static void run_match(const char *what, const column *c, const char *p, bool span)
{
    static uint8_t out[ROWS + 64];
    ax_strs s = {c->bytes, c->off, NULL, c->len};
    ax_regex *re;
    uint32_t hits = 0, bytes = 0;
    double best = 1e18;

    if (ax_regex_compile(&task, task.arena, (const uint8_t *) p, (uint32_t) strlen(p),
                         AX_RE_CTYPE_C, &re) != AX_OK)
    {
        printf("%-10s %-40s %s\n", what, p, task.err.msg);
        return;
    }
    for (uint32_t k = 0; k < ROUNDS; k++)
    {
        double t0 = now_ns();

        ax_regex_match_rows(re, &s, NULL, ROWS, span, ROWS, out);
        keep_least(&best, now_ns() - t0);
    }
    for (uint32_t i = 0; i < ROWS; i++)
    {
        hits += out[i];
        bytes += c->len[i];
    }
    printf("%-10s %-40s %6.2f ns/row %5.2f ns/byte %5u hits%s\n", what, p, best / ROWS,
           best / bytes, hits, span ? ", as one span" : "");
}

static void run_replace(const column *c, const char *p, const char *rep)
{
    ax_reseq *q;
    ax_arena *lane = ax_arena_create(&budget, 1u << 20);
    uint64_t sum = 0;
    double best = 1e18;

    if (ax_reseq_compile(&task, task.arena, (const uint8_t *) p, (uint32_t) strlen(p),
                         (const uint8_t *) rep, (uint32_t) strlen(rep), AX_RE_CTYPE_C, &q) != AX_OK)
    {
        printf("replace    %-40s %s\n", p, task.err.msg);
        return;
    }
    for (uint32_t k = 0; k < ROUNDS; k++, ax_arena_reset(lane))
    {
        double t0 = now_ns();

        for (uint32_t i = 0; i < ROWS; i++)
        {
            const uint8_t *r;
            uint32_t n;

            if (!ax_reseq_replace(q, lane, c->bytes + c->off[i], c->len[i], &r, &n))
                return;
            sum += n;
        }
        keep_least(&best, now_ns() - t0);
    }
    printf("replace    %-40s %6.2f ns/row, %.1f bytes left\n", p, best / ROWS,
           (double) sum / ROUNDS / ROWS);
    ax_arena_destroy(lane);
}

int main(void)
{
    static column urls, shorts;

    ax_budget_init(&budget, "bench", INT64_MAX, NULL);
    if (ax_task_init(&task, &budget, NULL) != AX_OK)
        return 1;
    urls.bytes = (uint8_t *) ax_arena_values(task.arena, ROWS * 128);
    shorts.bytes = (uint8_t *) ax_arena_values(task.arena, ROWS * 16);
    make_urls(&urls);
    make_short(&shorts);
    run_match("short", &shorts, "[0-9][a-z][A-Z]", true);
    run_match("short", &shorts, "[0-9][a-z][A-Z]", false);
    run_match("short", &shorts, "[0-9]+[a-z]+[A-Z]", false);
    for (int span = 1; span >= 0; span--)
    {
        run_match("url", &urls, "example", span);
        run_match("url", &urls, "example\\.[a-z]+/.*[0-9]{3}", span);
        run_match("url", &urls, "^https?://(www\\.)?[^/]+\\.(com|net)/", span);
        run_match("url", &urls, "(foo|bar|a[0-9]b)", span);
        run_match("url", &urls, "[0-9]{2,4}[?&]", span);
    }
    run_replace(&urls, "^h(.*)$", "\\1");
    run_replace(&urls, "^https?://(?:www\\.)?([^/]+)/.*$", "\\1");
    run_replace(&urls, "^.*/([^/]*)$", "\\1");
    run_replace(&urls, "^([a-z]+)://([^/]+)/(.*)$", "\\2 \\1");
    ax_task_fini(&task);
    return 0;
}
