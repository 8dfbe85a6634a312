/* What decoding costs a core: bit-packed ids by width, the walk over the lengths of a page that is
 * larger than the caches, and the check of its text.  Prints one line a measurement; AX_CPU lowers
 * the level. */
#include "parquet_int.h"

#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { IDS = 1 << 16, PAGE_ROWS = 400000, WINDOW = 2048 };

static double now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double) ts.tv_sec * 1e9 + (double) ts.tv_nsec;
}

static void *room(size_t n)
{
    void *p = calloc(1, n + AX_PAD);

    if (p == NULL)
        exit(1);
    return p;
}

/* Copying the unpacked values inside the cache: G values/s. */
static double copy_rate(const uint8_t *from, uint32_t *to)
{
    double begin = now_ns();

    for (uint32_t i = 0; i < 100 * IDS / WINDOW; i++)
    {
        memcpy(to, from + i % 4 * WINDOW, (size_t) WINDOW * 4);
        __asm__ volatile("" : : "r"(to) : "memory");
    }
    return 100.0 * IDS / (now_ns() - begin);
}

static void bench_unpack(void)
{
    static const uint8_t widths[] = {1, 4, 7, 12, 17, 20, 25, 28};
    uint8_t *packed = (uint8_t *) room((size_t) IDS * 4);
    uint32_t *out = (uint32_t *) room((size_t) WINDOW * 4), sum = 0, i;
    double copied, rate;

    for (i = 0; i < IDS * 4; i++)
        packed[i] = (uint8_t) (i * 2654435761u >> 13);
    copied = copy_rate(packed, out);
    for (i = 0; i < sizeof widths; i++)
    {
        double begin = now_ns();

        for (uint32_t round = 0; round < 100; round++)
        {
            ax_pq_rle r = {.packed = packed, .packed_left = IDS, .width = widths[i]};

            while (r.packed_left > 0)
                sum += ax_pq_rle_unpack(&r, out, WINDOW);
        }
        rate = 100.0 * IDS / (now_ns() - begin);
        printf("unpack, %2u bits                  %6.2f G values/s, %.2f of copying them\n",
               widths[i], rate, rate / copied);
    }
    if (sum == 0)
        printf("nothing unpacked\n");
    free(out);
    free(packed);
}

/* Strings of 20 to 119 bytes; one in `rare` has letters that are not ASCII. */
static size_t make_page(uint8_t *p, uint32_t rare)
{
    uint32_t i;
    size_t at = 0;

    for (i = 0; i < PAGE_ROWS; i++)
    {
        uint32_t n = 20 + (i * 2654435761u >> 8) % 100;

        memcpy(p + at, &n, 4);
        memset(p + at + 4, 'a', n);
        if (i % rare == 0)
            memcpy(p + at + 4, "\xd0\x96\xd0\x96\xd0\x96\xd0\x96", 8);
        at += 4 + n;
    }
    return at;
}

static void bench_strings(ax_task *t, uint32_t rare)
{
    uint8_t *page = (uint8_t *) room((size_t) PAGE_ROWS * 128);
    ax_pq_conv conv = {.src = SRC_BYTES};
    ax_pq_col c = {.conv = &conv};
    uint32_t off[WINDOW], len[WINDOW], row;
    double walk = 0, check = 0, begin;
    size_t n = make_page(page, rare);
    bool ascii = true;

    c.base = c.v = page;
    c.vend = page + n;
    for (row = 0; row + WINDOW <= PAGE_ROWS; row += WINDOW)
    {
        begin = now_ns();
        if (ax_pq_plain_str(t, &c, WINDOW, off, len) != AX_OK)
            exit(1);
        walk += now_ns() - begin;
        begin = now_ns();
        if (!ax_utf8_ok(page, off, len, WINDOW, 4, &ascii))
            exit(1);
        check += now_ns() - begin;
    }
    printf("walk over lengths, one in %4u   %6.2f ns a string\n", rare, walk / row);
    printf("check of text, one in %4u       %6.2f GB/s\n", rare, (double) n / check);
    free(page);
}

int main(void)
{
    ax_budget budget;
    ax_task t;

    ax_budget_init(&budget, "bench", 1 << 30, NULL);
    if (ax_task_init(&t, &budget, NULL) != AX_OK)
        return 1;
    bench_unpack();
    bench_strings(&t, 1);
    bench_strings(&t, 10);
    bench_strings(&t, 1000);
    ax_task_fini(&t);
    return 0;
}
