/* Functions of text on single values.  Sources: the documentation of PostgreSQL 15, 9.4, and the
 * behaviour of its varlena.c and oracle_compat.c on UTF-8. */
#include "func/text.h"

#include <string.h>

static inline bool is_cont(uint8_t c) { return (c & 0xC0) == 0x80; }

/* Offset of the character behind the one at i < n. */
static inline uint32_t next_char(ax_text s, uint32_t i)
{
    do
        i++;
    while (i < s.n && is_cont(s.p[i]));
    return i;
}

/* Offset of the character that ends before i > 0. */
static inline uint32_t prev_char(ax_text s, uint32_t i)
{
    do
        i--;
    while (i > 0 && is_cont(s.p[i]));
    return i;
}

static inline ax_text slice(ax_text s, uint32_t from, uint32_t to)
{
    return (ax_text){s.p + from, to - from};
}

/* ---- slices ---------------------------------------------------------------------------------- */

uint32_t ax_text_chars(ax_text s)
{
    const uint32_t off = 0;
    ax_strs one = {s.p, &off, NULL, &s.n};
    int32_t r;

    ax_k_get()->utf8_len(&one, NULL, 1, &r);
    return (uint32_t) r;
}

uint32_t ax_text_skip(ax_text s, uint64_t chars)
{
    uint32_t i = 0;

    while (chars-- > 0 && i < s.n)
        i = next_char(s, i);
    return i;
}

/* The split of left and right is counted from whichever side needs no length. */
static uint32_t skip_back(ax_text s, uint64_t chars)
{
    uint32_t i = s.n;

    while (chars-- > 0 && i > 0)
        i = prev_char(s, i);
    return i;
}

ax_text ax_text_left(ax_text s, int32_t k)
{
    uint32_t to = k >= 0 ? ax_text_skip(s, (uint64_t) k) : skip_back(s, -(uint64_t) (int64_t) k);

    return slice(s, 0, to);
}

ax_text ax_text_right(ax_text s, int32_t k)
{
    uint32_t from = k >= 0 ? skip_back(s, (uint64_t) k) : ax_text_skip(s, -(uint64_t) (int64_t) k);

    return slice(s, from, s.n);
}

ax_text ax_text_substring_from(ax_text s, int32_t from)
{
    return slice(s, from > 1 ? ax_text_skip(s, (uint64_t) from - 1) : 0, s.n);
}

ax_text ax_text_substring(ax_text s, int32_t from, int32_t count)
{
    int64_t end = (int64_t) from + count;
    ax_text rest = ax_text_substring_from(s, from);

    if (end <= 1)
        return slice(s, 0, 0);
    return slice(rest, 0, ax_text_skip(rest, (uint64_t) (end - (from > 1 ? from : 1))));
}

static bool set_has(ax_text set, const uint8_t *c, uint32_t n)
{
    for (uint32_t i = 0, next; i < set.n; i = next)
    {
        next = next_char(set, i);
        if (next - i == n && memcmp(set.p + i, c, n) == 0)
            return true;
    }
    return false;
}

ax_text ax_text_trim(ax_text s, ax_text set, bool left, bool right)
{
    uint32_t from = 0, to = s.n, i;

    if (set.n == 1) /* one ASCII character: the usual case */
    {
        for (; left && from < to && s.p[from] == set.p[0]; from++)
            ;
        for (; right && to > from && s.p[to - 1] == set.p[0]; to--)
            ;
        return slice(s, from, to);
    }
    for (; left && from < to; from = i)
    {
        i = next_char(s, from);
        if (!set_has(set, s.p + from, i - from))
            break;
    }
    for (; right && to > from; to = i)
    {
        i = prev_char(s, to);
        if (!set_has(set, s.p + i, to - i))
            break;
    }
    return slice(s, from, to);
}

/* Offset of the separator at or behind `at`, s.n when there is none. */
static inline uint32_t find_from(ax_text s, uint32_t at, const ax_needle *sep)
{
    return at + ax_k_get()->find(s.p + at, s.n - at, sep);
}

ax_text ax_text_split_part(ax_text s, const ax_needle *sep, uint32_t sep_n, int32_t k)
{
    int64_t fields = 1, want = k;
    uint32_t at = 0, end;

    if (s.n == 0)
        return s;
    if (sep_n == 0)
        return k == 1 || k == -1 ? s : slice(s, 0, 0);
    if (k < 0)
    {
        for (uint32_t i = 0; (i = find_from(s, i, sep)) < s.n; i += sep_n)
            fields++;
        want = fields + 1 + k;
        if (want <= 0)
            return slice(s, 0, 0);
    }
    for (;; at = end + sep_n)
    {
        end = find_from(s, at, sep);
        if (--want == 0)
            return slice(s, at, end);
        if (end == s.n)
            return slice(s, 0, 0);
    }
}

bool ax_text_starts_with(ax_text s, ax_text prefix)
{
    return s.n >= prefix.n && memcmp(s.p, prefix.p, prefix.n) == 0;
}

int32_t ax_text_position(ax_text s, const ax_needle *part, uint32_t part_n)
{
    uint32_t at;

    if (part_n == 0)
        return 1;
    at = ax_k_get()->find(s.p, s.n, part);
    return at < s.n ? (int32_t) ax_text_chars(slice(s, 0, at)) + 1 : 0;
}

/* lookup3 (Bob Jenkins, public domain) as the server uses it: three lanes begin with the length and
 * a constant; 12 bytes a step; the lowest byte of the last lane stays without input. */
#define ROT(x, k) ((x) << (k) | (x) >> (32 - (k)))

static uint32_t four_bytes(const uint8_t *p, uint32_t n)
{
    uint32_t v = 0;

    memcpy(&v, p, n);
    return v;
}

int32_t ax_text_hash(ax_text s)
{
    uint32_t a = 0x9e3779b9u + s.n + 3923095u, b = a, c = a, n = s.n;
    const uint8_t *p = s.p;

    for (; n >= 12; n -= 12, p += 12)
    {
        a += four_bytes(p, 4);
        b += four_bytes(p + 4, 4);
        c += four_bytes(p + 8, 4);
        a = (a - c) ^ ROT(c, 4), c += b;
        b = (b - a) ^ ROT(a, 6), a += c;
        c = (c - b) ^ ROT(b, 8), b += a;
        a = (a - c) ^ ROT(c, 16), c += b;
        b = (b - a) ^ ROT(a, 19), a += c;
        c = (c - b) ^ ROT(b, 4), b += a;
    }
    a += four_bytes(p, n < 4 ? n : 4);
    if (n > 4)
        b += four_bytes(p + 4, n < 8 ? n - 4 : 4);
    if (n > 8)
        c += four_bytes(p + 8, n - 8) << 8;
    c = (c ^ b) - ROT(b, 14);
    a = (a ^ c) - ROT(c, 11);
    b = (b ^ a) - ROT(a, 25);
    c = (c ^ b) - ROT(b, 16);
    a = (a ^ c) - ROT(c, 4);
    b = (b ^ a) - ROT(a, 14);
    return (int32_t) ((c ^ b) - ROT(b, 24));
}

int32_t ax_text_ascii(ax_text s)
{
    uint32_t end, cp;

    if (s.n == 0)
        return 0;
    end = next_char(s, 0);
    if (end == 1)
        return s.p[0];
    cp = s.p[0] & (end == 2 ? 0x1fu : end == 3 ? 0x0fu : 0x07u);
    for (uint32_t i = 1; i < end && i < 4; i++)
        cp = cp << 6 | (s.p[i] & 63u);
    return (int32_t) cp;
}

/* ---- built texts ----------------------------------------------------------------------------- */

/* Room for n bytes; n == 0 gets some too. */
static uint8_t *room(ax_arena *a, uint64_t n)
{
    return n > AX_TEXT_MAX ? NULL : (uint8_t *) ax_arena_alloc(a, (size_t) n + AX_PAD);
}

/* out[i] = in[i] with bit 5 flipped where it is a letter from first to first + 25. */
static void flip_case(const uint8_t *in, uint32_t n, uint8_t first, uint8_t *restrict out)
{
    for (uint32_t i = 0; i < n; i++)
    {
        uint8_t letter = (uint8_t) (in[i] - first) < 26;

        out[i] = in[i] ^ (uint8_t) (letter << 5);
    }
}

static bool has_case(ax_text s, uint8_t first)
{
    uint8_t any = 0;

    for (uint32_t i = 0; i < s.n; i++)
        any |= (uint8_t) (s.p[i] - first) < 26;
    return any;
}

static bool change_case(ax_arena *a, ax_text s, uint8_t first, ax_text *out)
{
    uint8_t *p;

    *out = s;
    if (!has_case(s, first))
        return true;
    p = room(a, s.n);
    if (p == NULL)
        return false;
    flip_case(s.p, s.n, first, p);
    out->p = p;
    return true;
}

bool ax_text_lower(ax_arena *a, ax_text s, ax_text *out) { return change_case(a, s, 'A', out); }
bool ax_text_upper(ax_arena *a, ax_text s, ax_text *out) { return change_case(a, s, 'a', out); }

bool ax_text_initcap(ax_arena *a, ax_text s, ax_text *out)
{
    uint8_t *p = room(a, s.n);
    bool inside = false;

    if (p == NULL)
        return false;
    for (uint32_t i = 0; i < s.n; i++)
    {
        uint8_t c = s.p[i], fold = c | 0x20;
        bool letter = (uint8_t) (fold - 'a') < 26;

        p[i] = !letter ? c : inside ? fold : (uint8_t) (fold ^ 0x20);
        inside = letter || (uint8_t) (c - '0') < 10;
    }
    *out = (ax_text){p, s.n};
    return true;
}

bool ax_text_replace(ax_arena *a, ax_text s, const ax_needle *from, uint32_t from_n, ax_text to,
                     ax_text *out)
{
    uint64_t hits = 0;
    uint32_t at = 0;
    uint8_t *p;

    *out = s;
    if (s.n == 0 || from_n == 0)
        return true;
    for (uint32_t i = 0; (i = find_from(s, i, from)) < s.n; i += from_n)
        hits++;
    if (hits == 0)
        return true;
    p = room(a, s.n - hits * from_n + hits * to.n);
    if (p == NULL)
        return false;
    out->p = p;
    for (;;)
    {
        uint32_t i = find_from(s, at, from);

        memcpy(p, s.p + at, i - at);
        p += i - at;
        if (i == s.n)
            break;
        if (to.n > 0)
            memcpy(p, to.p, to.n);
        p += to.n;
        at = i + from_n;
    }
    out->n = (uint32_t) (p - out->p);
    return true;
}

bool ax_text_concat(ax_arena *a, ax_text x, ax_text y, ax_text *out)
{
    uint8_t *p;

    *out = y.n == 0 ? x : y;
    if (x.n == 0 || y.n == 0)
        return true;
    p = room(a, (uint64_t) x.n + y.n);
    if (p == NULL)
        return false;
    memcpy(p, x.p, x.n);
    memcpy(p + x.n, y.p, y.n);
    *out = (ax_text){p, x.n + y.n};
    return true;
}

bool ax_text_reverse(ax_arena *a, ax_text s, ax_text *out)
{
    uint8_t *p = room(a, s.n);
    uint32_t to = s.n;

    if (p == NULL)
        return false;
    for (uint32_t i = 0, next; i < s.n; i = next)
    {
        next = next_char(s, i);
        to -= next - i;
        memcpy(p + to, s.p + i, next - i);
    }
    *out = (ax_text){p, s.n};
    return true;
}

bool ax_text_repeat(ax_arena *a, ax_text s, int32_t times, ax_text *out)
{
    uint64_t n = times > 0 ? (uint64_t) times * s.n : 0;
    uint8_t *p = room(a, n);

    if (p == NULL)
        return false;
    for (uint64_t i = 0; i < n; i += s.n)
        memcpy(p + i, s.p, s.n);
    *out = (ax_text){p, (uint32_t) n};
    return true;
}

/* The server reckons with four bytes a character before it looks. */
bool ax_text_pad(ax_arena *a, ax_text s, int32_t chars, ax_text fill, bool left, ax_text *out)
{
    uint32_t want = chars > 0 ? (uint32_t) chars : 0, have = ax_text_chars(s), missing, kept;
    uint32_t whole, fill_chars, part;
    uint64_t n;
    uint8_t *p, *f;

    if (fill.n == 0 && want > have)
        want = have;
    if (4 * (uint64_t) want > AX_TEXT_MAX)
        return false;
    kept = ax_text_skip(s, want);
    *out = slice(s, 0, kept);
    if (want <= have)
        return true;
    missing = want - have;
    fill_chars = ax_text_chars(fill);
    whole = missing / fill_chars;
    part = ax_text_skip(fill, missing % fill_chars);
    n = (uint64_t) whole * fill.n + part;
    p = room(a, n + s.n);
    if (p == NULL)
        return false;
    f = left ? p : p + s.n;
    memcpy(left ? p + n : p, s.p, s.n);
    for (uint32_t i = 0; i < whole; i++, f += fill.n)
        memcpy(f, fill.p, fill.n);
    memcpy(f, fill.p, part);
    *out = (ax_text){p, (uint32_t) n + s.n};
    return true;
}

/* Where the character at s.p[i] stands in `from`: its number, or UINT32_MAX. */
static uint32_t number_in(ax_text from, const uint8_t *c, uint32_t n)
{
    uint32_t number = 0;

    for (uint32_t i = 0, next; i < from.n; i = next, number++)
    {
        next = next_char(from, i);
        if (next - i == n && memcmp(from.p + i, c, n) == 0)
            return number;
    }
    return UINT32_MAX;
}

bool ax_text_translate(ax_arena *a, ax_text s, ax_text from, ax_text to, ax_text *out)
{
    uint8_t *p = room(a, 4 * (uint64_t) s.n), *q = p;

    if (p == NULL)
        return false;
    for (uint32_t i = 0, next; i < s.n; i = next)
    {
        uint32_t number;

        next = next_char(s, i);
        number = number_in(from, s.p + i, next - i);
        if (number == UINT32_MAX)
        {
            memcpy(q, s.p + i, next - i);
            q += next - i;
            continue;
        }
        ax_text rest = ax_text_substring_from(to, (int32_t) number + 1);

        if (rest.n > 0)
        {
            uint32_t m = next_char(rest, 0);

            m = m < 4 ? m : 4;
            memcpy(q, rest.p, m);
            q += m;
        }
    }
    *out = (ax_text){p, (uint32_t) (q - p)};
    return true;
}

bool ax_text_chr(ax_arena *a, int32_t cp, ax_text *out)
{
    uint32_t c = (uint32_t) cp, n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    uint8_t *p;

    if (cp <= 0 || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
        return false;
    p = room(a, 4);
    if (p == NULL)
        return false;
    for (uint32_t i = n; i-- > 1; c >>= 6)
        p[i] = (uint8_t) (0x80 | (c & 63));
    p[0] = (uint8_t) (n == 1 ? c : (0xf00u >> n & 0xff) | c);
    *out = (ax_text){p, n};
    return true;
}

/* ---- LIKE without case ----------------------------------------------------------------------- */

ax_status ax_ilike_compile(ax_task *t, ax_arena *a, const uint8_t *p, uint32_t n, bool plain,
                           ax_like *out)
{
    uint8_t *fold;

    for (uint32_t i = 0; plain && i < n; i++)
        AX_CHECK(t, p[i] < 0x80, AX_EUNSUPPORTED,
                 "ignoring case needs a pattern of ASCII characters");
    AX_NEW(t, fold, ax_arena_values(a, n));
    flip_case(p, n, 'A', fold);
    return ax_like_compile(t, a, fold, n, out);
}

uint8_t ax_ilike_match(const ax_like *l, ax_text s, bool plain, uint8_t *fold)
{
    flip_case(s.p, s.n, 'A', fold);
    /* two characters become ASCII in lower case: I with a dot, and the sign of kelvin; and the
     * first may become two characters */
    for (uint32_t i = 0; plain && i + 1 < s.n; i++)
        if ((s.p[i] == 0xC4 && s.p[i + 1] == 0xB0)
            || (i + 2 < s.n && s.p[i] == 0xE2 && s.p[i + 1] == 0x84 && s.p[i + 2] == 0xAA))
            return 2;
    return ax_like_match(l, fold, s.n);
}
