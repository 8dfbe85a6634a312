/* Thrift's compact protocol over a bounds-checked cursor.
 *
 * Everything that does not fit sets the cursor's `bad`, which is sticky and turns every later read
 * into zeros: callers test once at the end of a structure.
 *
 * Format: apache/thrift, doc/specs/thrift-compact-protocol.md. */
#include "parquet_int.h"

static int64_t zigzag(uint64_t v) { return (int64_t) (v >> 1) ^ -(int64_t) (v & 1); }

bool ax_pq_th_next(ax_cur *c, ax_pq_fld *f)
{
    uint8_t b = ax_cur_u8(c);
    int64_t id;

    if (c->bad || b == 0)
        return false;
    f->type = b & 15;
    id = (b >> 4) != 0 ? f->id + (b >> 4) : zigzag(ax_cur_varint(c));
    if (f->type == 0 || f->type > TH_UUID || id < INT16_MIN || id > INT16_MAX)
        c->bad = true;
    f->id = (int32_t) id;
    return !c->bad;
}

/* Bytes of an element of a list when they do not depend on the value, else 0. */
static uint32_t fixed_bytes(uint8_t type)
{
    switch (type)
    {
        case TH_TRUE:
        case TH_FALSE:
        case TH_I8:
            return 1;
        case TH_DOUBLE:
            return 8;
        case TH_UUID:
            return 16;
        default:
            return 0;
    }
}

static void skip_value(ax_cur *c, uint8_t type, unsigned depth, bool element);

static void skip_elements(ax_cur *c, uint8_t type, uint64_t n, unsigned depth)
{
    uint32_t fixed = fixed_bytes(type);

    if (n > ax_cur_left(c))
        c->bad = true;
    else if (fixed != 0)
        (void) ax_cur_take(c, n * fixed);
    else
        while (n-- > 0 && !c->bad)
            skip_value(c, type, depth, true);
}

static void skip_value(ax_cur *c, uint8_t type, unsigned depth, bool element)
{
    ax_pq_fld f = {0, 0};
    uint64_t n;
    uint8_t b;

    if (depth > PQ_MAX_DEPTH)
    {
        c->bad = true;
        return;
    }
    switch (type)
    {
        case TH_TRUE:
        case TH_FALSE:
            if (element)
                (void) ax_cur_u8(c);
            return;
        case TH_I8:
        case TH_DOUBLE:
        case TH_UUID:
            (void) ax_cur_take(c, fixed_bytes(type));
            return;
        case TH_I16:
        case TH_I32:
        case TH_I64:
            (void) ax_cur_varint(c);
            return;
        case TH_BINARY:
            n = ax_cur_varint(c);
            (void) ax_cur_take(c, n);
            return;
        case TH_LIST:
        case TH_SET:
            b = ax_cur_u8(c);
            n = (b >> 4) == 15 ? ax_cur_varint(c) : (uint64_t) (b >> 4);
            skip_elements(c, b & 15, n, depth + 1);
            return;
        case TH_MAP:
            n = ax_cur_varint(c);
            b = n > 0 ? ax_cur_u8(c) : 0;
            if (n > ax_cur_left(c))
                c->bad = true;
            while (n-- > 0 && !c->bad)
            {
                skip_value(c, b >> 4, depth + 1, true);
                skip_value(c, b & 15, depth + 1, true);
            }
            return;
        case TH_STRUCT:
            while (ax_pq_th_next(c, &f))
                skip_value(c, f.type, depth + 1, false);
            return;
        default:
            c->bad = true;
    }
}

void ax_pq_th_skip(ax_cur *c, uint8_t type) { skip_value(c, type, 0, false); }

bool ax_pq_th_i64(ax_cur *c, uint8_t type, int64_t *out)
{
    int64_t v;

    if (type == TH_I8)
        v = (int8_t) ax_cur_u8(c);
    else if (type == TH_I16 || type == TH_I32 || type == TH_I64)
        v = zigzag(ax_cur_varint(c));
    else
    {
        ax_pq_th_skip(c, type);
        return false;
    }
    if (c->bad)
        return false;
    *out = v;
    return true;
}

bool ax_pq_th_i32(ax_cur *c, uint8_t type, int32_t *out)
{
    int64_t v;

    if (!ax_pq_th_i64(c, type, &v) || v < INT32_MIN || v > INT32_MAX)
        return false;
    *out = (int32_t) v;
    return true;
}

bool ax_pq_th_bool(ax_cur *c, uint8_t type, bool *out)
{
    if (type != TH_TRUE && type != TH_FALSE)
    {
        ax_pq_th_skip(c, type);
        return false;
    }
    *out = type == TH_TRUE;
    return true;
}

bool ax_pq_th_bin(ax_cur *c, uint8_t type, const uint8_t **p, uint32_t *n)
{
    const uint8_t *r;
    uint64_t len;

    if (type != TH_BINARY)
    {
        ax_pq_th_skip(c, type);
        return false;
    }
    len = ax_cur_varint(c);
    r = len <= UINT32_MAX ? ax_cur_take(c, len) : NULL;
    if (r == NULL)
    {
        c->bad = true;
        return false;
    }
    *p = r;
    *n = (uint32_t) len;
    return true;
}

bool ax_pq_th_list(ax_cur *c, uint8_t type, uint8_t *elem, uint32_t *n)
{
    uint64_t cnt;
    uint8_t b;

    if (type != TH_LIST && type != TH_SET)
    {
        ax_pq_th_skip(c, type);
        return false;
    }
    b = ax_cur_u8(c);
    cnt = (b >> 4) == 15 ? ax_cur_varint(c) : (uint64_t) (b >> 4);
    if (c->bad || cnt > ax_cur_left(c))
    {
        c->bad = true;
        return false;
    }
    *elem = b & 15;
    *n = (uint32_t) cnt;
    return true;
}

bool ax_pq_th_struct(ax_cur *c, uint8_t type)
{
    if (type == TH_STRUCT)
        return true;
    ax_pq_th_skip(c, type);
    return false;
}
