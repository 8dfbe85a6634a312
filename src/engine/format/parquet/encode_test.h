/* A tiny encoder for tests: thrift structs, hybrid runs, pages, and whole files of one row group,
 * each byte as the test wants it, wrong ones included. */
#ifndef AX_PARQUET_ENCODE_TEST_H
#define AX_PARQUET_ENCODE_TEST_H

#include "parquet_int.h"

#include <snappy-c.h>
#include <stdlib.h>

/* Tests leave out the last fields of the structs below. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* Bytes that grow. */
#ifndef ENC_BYTES
#define ENC_BYTES (1 << 16)
#endif
typedef struct enc { uint8_t p[ENC_BYTES]; size_t n; } enc;

static inline void e_u8(enc *e, uint8_t v)
{
    if (e->n >= sizeof e->p)
        abort();
    e->p[e->n++] = v;
}

static inline void e_bytes(enc *e, const void *p, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        e_u8(e, ((const uint8_t *) p)[i]);
}

static inline void e_u32(enc *e, uint32_t v) { e_bytes(e, &v, 4); }
static inline void e_u64(enc *e, uint64_t v) { e_bytes(e, &v, 8); }

static inline void e_varint(enc *e, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        e_u8(e, (uint8_t) (v | 128));
    e_u8(e, (uint8_t) v);
}

static inline void e_zigzag(enc *e, int64_t v)
{
    e_varint(e, ((uint64_t) v << 1) ^ (uint64_t) (v >> 63));
}

/* ---- thrift: fields are written with long ids, which any reader must take -------------------- */

static inline void e_field(enc *e, int id, uint8_t type)
{
    e_u8(e, type);
    e_zigzag(e, id);
}

static inline void e_int(enc *e, int id, int64_t v)
{
    e_field(e, id, TH_I64);
    e_zigzag(e, v);
}

static inline void e_bin(enc *e, int id, const void *p, size_t n)
{
    e_field(e, id, TH_BINARY);
    e_varint(e, n);
    e_bytes(e, p, n);
}

static inline void e_list(enc *e, int id, uint8_t elem, size_t n)
{
    e_field(e, id, TH_LIST);
    e_u8(e, (uint8_t) (0xf0 | elem));
    e_varint(e, n);
}

/* ---- hybrid ---------------------------------------------------------------------------------- */

static inline void e_run(enc *e, uint32_t n, uint32_t value, unsigned width)
{
    e_varint(e, (uint64_t) n << 1);
    e_bytes(e, &value, (width + 7) / 8);
}

/* One packed run of n values, padded to 8. */
static inline void e_packed(enc *e, const uint32_t *v, uint32_t n, unsigned width)
{
    uint32_t groups = (n + 7) / 8, i;
    size_t at;

    e_varint(e, (uint64_t) groups << 1 | 1);
    at = e->n;
    for (i = 0; i < groups * width; i++)
        e_u8(e, 0);
    for (i = 0; i < n * width; i++)
        if (v[i / width] >> (i % width) & 1)
            e->p[at + i / 8] |= (uint8_t) (1 << (i & 7));
}

/* ---- pages and files ------------------------------------------------------------------------- */

typedef struct test_page
{
    int type;              /* PQ_PAGE_* */
    int encoding;
    int32_t n;             /* slots, or values of a dictionary */
    const enc *levels;     /* hybrid of definition levels, NULL: none */
    const enc *values;
    const enc *reps;       /* hybrid of repetition levels, NULL: none */
    int32_t rows;          /* 0: n */
    bool snappy;           /* the values are compressed; not V2, no levels */
} test_page;

typedef struct test_column
{
    const char *name;
    int type, rep, converted;  /* converted -1: none */
    int32_t type_length, scale, precision;
    const test_page *page;     /* [npages] */
    uint32_t npages;
    const enc *stats;          /* fields of Statistics with its end, or NULL */
    int64_t off, len;          /* set by e_file */
    int64_t nvalues;           /* 0: rows of the file */
    int codec;                 /* as parquet.thrift has them: 0 none, 1 snappy */
} test_column;

typedef struct test_file
{
    const char *created_by;
    int64_t nrows;
    test_column *col;
    uint32_t ncols;
    bool orders;               /* column_orders: TYPE_ORDER for all */
    const enc *schema;         /* elements below the root (e_elem), NULL: those of flat columns */
    uint32_t nelems, nroot;    /* of them, and columns of the root */
} test_file;

static inline void e_page(enc *out, const test_page *p)
{
    size_t nlev = p->levels != NULL ? p->levels->n : 0, nval = p->values->n;
    size_t nrep = p->reps != NULL ? p->reps->n : 0;
    bool v1_levels = p->type == PQ_PAGE_DATA && p->levels != NULL;
    bool v1_reps = p->type == PQ_PAGE_DATA && p->reps != NULL;
    size_t body = nlev + nrep + nval + (v1_levels ? 4 : 0) + (v1_reps ? 4 : 0), packed = body;
    static char bytes[ENC_BYTES + ENC_BYTES / 6 + 32]; /* as snappy may need */

    if (p->snappy)
    {
        packed = sizeof bytes;
        if (snappy_compress((const char *) p->values->p, nval, bytes, &packed) != SNAPPY_OK)
            abort();
    }
    e_int(out, 1, p->type);
    e_int(out, 2, (int64_t) body);
    e_int(out, 3, (int64_t) packed);
    e_field(out, p->type == PQ_PAGE_DATA ? 5 : p->type == PQ_PAGE_DICTIONARY ? 7 : 8, TH_STRUCT);
    e_int(out, 1, p->n);
    if (p->type == PQ_PAGE_DATA_V2)
    {
        e_int(out, 2, 0);
        e_int(out, 3, p->rows > 0 ? p->rows : p->n);
        e_int(out, 4, p->encoding);
        e_int(out, 5, (int64_t) nlev);
        e_int(out, 6, (int64_t) nrep);
        e_field(out, 7, TH_FALSE);
    }
    else
    {
        e_int(out, 2, p->encoding);
        e_int(out, 3, PQ_RLE);
        e_int(out, 4, PQ_RLE);
    }
    e_u8(out, 0);
    e_u8(out, 0);
    if (v1_reps)
        e_u32(out, (uint32_t) nrep);
    if (p->reps != NULL)
        e_bytes(out, p->reps->p, nrep);
    if (v1_levels)
        e_u32(out, (uint32_t) nlev);
    if (p->levels != NULL)
        e_bytes(out, p->levels->p, nlev);
    if (p->snappy)
        e_bytes(out, bytes, packed);
    else
        e_bytes(out, p->values->p, nval);
}

/* A schema element: a group of nchild fields, or (nchild 0) a leaf of a type. */
static inline void e_elem(enc *out, const char *name, int rep, uint32_t nchild, int type,
                          int converted)
{
    if (nchild == 0)
        e_int(out, 1, type);
    e_int(out, 3, rep);
    e_bin(out, 4, name, strlen(name));
    if (nchild > 0)
        e_int(out, 5, nchild);
    if (converted >= 0)
        e_int(out, 6, converted);
    e_u8(out, 0);
}

static inline void e_schema(enc *out, const test_file *f)
{
    uint32_t i;

    if (f->schema != NULL)
    {
        e_list(out, 2, TH_STRUCT, f->nelems + 1);
        e_bin(out, 4, "root", 4);
        e_int(out, 5, f->nroot);
        e_u8(out, 0);
        e_bytes(out, f->schema->p, f->schema->n);
        return;
    }
    e_list(out, 2, TH_STRUCT, f->ncols + 1);
    e_bin(out, 4, "root", 4);
    e_int(out, 5, f->ncols);
    e_u8(out, 0);
    for (i = 0; i < f->ncols; i++)
    {
        const test_column *c = &f->col[i];

        e_int(out, 1, c->type);
        e_int(out, 2, c->type_length);
        e_int(out, 3, c->rep);
        e_bin(out, 4, c->name, strlen(c->name));
        if (c->converted >= 0)
        {
            e_int(out, 6, c->converted);
            e_int(out, 7, c->scale);
            e_int(out, 8, c->precision);
        }
        e_u8(out, 0);
    }
}

static inline void e_chunk(enc *out, const test_file *f, const test_column *c)
{
    e_field(out, 3, TH_STRUCT);
    e_int(out, 1, c->type);
    e_int(out, 4, c->codec);
    e_int(out, 5, c->nvalues > 0 ? c->nvalues : f->nrows);
    e_int(out, 6, c->len);
    e_int(out, 7, c->len);
    e_int(out, 9, c->off);
    if (c->stats != NULL)
    {
        e_field(out, 12, TH_STRUCT);
        e_bytes(out, c->stats->p, c->stats->n);
    }
    e_u8(out, 0);
    e_u8(out, 0);
}

static inline void e_file(enc *out, test_file *f)
{
    uint32_t i, k;
    size_t begin;

    out->n = 0;
    e_bytes(out, "PAR1", 4);
    for (i = 0; i < f->ncols; i++)
    {
        f->col[i].off = (int64_t) out->n;
        for (k = 0; k < f->col[i].npages; k++)
            e_page(out, &f->col[i].page[k]);
        f->col[i].len = (int64_t) out->n - f->col[i].off;
    }
    begin = out->n;
    e_int(out, 1, 1);
    e_schema(out, f);
    e_int(out, 3, f->nrows);
    e_list(out, 4, TH_STRUCT, 1);
    e_list(out, 1, TH_STRUCT, f->ncols);
    for (i = 0; i < f->ncols; i++)
        e_chunk(out, f, &f->col[i]);
    e_int(out, 2, 1000);
    e_int(out, 3, f->nrows);
    e_u8(out, 0);
    if (f->created_by != NULL)
        e_bin(out, 6, f->created_by, strlen(f->created_by));
    if (f->orders)
    {
        e_list(out, 7, TH_STRUCT, f->ncols);
        for (i = 0; i < f->ncols; i++)
        {
            e_field(out, 1, TH_STRUCT);
            e_u8(out, 0);
            e_u8(out, 0);
        }
    }
    e_u8(out, 0);
    e_u32(out, (uint32_t) (out->n - begin));
    e_bytes(out, "PAR1", 4);
}

#endif
