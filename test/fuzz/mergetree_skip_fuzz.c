/* Skip indexes of a MergeTree part (mergetree_dir.h): its member "options" has their definitions as
 * `index=` lines.  Granules are pruned by conditions on each column, of all kinds that an index may
 * be asked, and by their OR. */
#include "mergetree_dir.h"

enum { COLUMNS = 8, CONDITIONS = 5 };

static ax_value constant(ax_type type)
{
    ax_value v = {.type = type};

    if (ax_type_is_str(type)) {
        v.u.s.p = (const uint8_t *)"word 3";
        v.u.s.len = 6;
    } else if (type.phys == AX_P_F32 || type.phys == AX_P_F64)
        v.u.f = 0.5;
    else if (type.phys == AX_P_NUM)
        v.u.num = (ax_num){.v = 12};
    else if (type.phys == AX_P_I16 || type.phys == AX_P_I32 || type.phys == AX_P_I64)
        v.u.i = 12;
    return v;
}

/* Condition number `kind` on column col, or NULL. */
static ax_expr *condition(fuzz *z, ax_arena *a, uint32_t col, ax_type type, uint32_t kind)
{
    static const ax_fn fn[CONDITIONS] = {AX_FN_EQ, AX_FN_LT, AX_FN_IS_NULL, AX_FN_LIKE,
                                         AX_FN_STARTS_WITH};
    ax_value v = constant(type);
    ax_expr *arg[2], *e;

    if (fn[kind] == AX_FN_LIKE) {
        v.u.s.p = (const uint8_t *)"%word 3 %x_yz%";
        v.u.s.len = 14;
    }
    if ((kind >= 3 && type.id != AX_T_TEXT) ||
        ax_expr_col(&z->t, a, col, type, &arg[0]) != AX_OK ||
        ax_expr_const(&z->t, a, &v, &arg[1]) != AX_OK ||
        ax_expr_call(&z->t, a, fn[kind], arg, fn[kind] == AX_FN_IS_NULL ? 1 : 2, &e) != AX_OK)
        e = NULL;
    ax_error_clear(&z->t.err);
    return e;
}

static void prune(fuzz *z, ax_arena *a, const ax_fmt_bind *bind, ax_expr *e)
{
    const ax_format *fmt = z->f->format;
    ax_filter *f;

    if (e == NULL || ax_filter_create(&z->t, a, &e, 1, NULL, &f) != AX_OK) {
        ax_error_clear(&z->t.err);
        return;
    }
    for (uint32_t i = 0; i < z->f->nsplits && i < 2; i++) {
        static const ax_rowrange within[] = {{0, 0}, {7, 23}};

        for (uint32_t k = 0; k < 2; k++) {
            ax_fmt_event ev = {0};
            ax_fmt_op *op;
            ax_split sp = {0};
            uint32_t last = 0;

            fmt->split(z->f, i, &sp);
            if ((int64_t)within[k].end > sp.nrows && sp.nrows >= 0)
                continue;
            if (fmt->prune_begin(&z->t, a, bind, i, within[k], f, AX_ALLOW_ALL, &op) == AX_OK)
                (void)!ax_fmt_drive(&z->t, z->io, fmt, op, NULL, NULL, &ev);
            ax_error_clear(&z->t.err);
            for (uint32_t r = 0; ev.rows != NULL && r < ev.rows->n; r++) {
                if (ev.rows->range[r].begin < last || ev.rows->range[r].end <= last)
                    abort();
                last = ev.rows->range[r].end;
            }
        }
    }
}

static void ask_all(fuzz *z, ax_arena *a, const ax_fmt_bind *bind, const ax_colspec *col)
{
    ax_expr *any[COLUMNS * CONDITIONS], *e;
    uint32_t n = 0;

    for (uint32_t c = 0; c < bind->ncols; c++)
        for (uint32_t kind = 0; kind < CONDITIONS; kind++) {
            e = condition(z, a, c, col[c].type, kind);
            prune(z, a, bind, e);
            if (e != NULL && kind != 2)
                any[n++] = e;
        }
    if (n > 1 && ax_expr_bool(&z->t, a, AX_X_OR, any, n, &e) == AX_OK)
        prune(z, a, bind, e);
    ax_error_clear(&z->t.err);
}

static void use(fuzz *z)
{
    const ax_format *fmt = ax_format_find("mergetree");
    char options[4096] = "primary_key=id\nindex_granularity=10\n";
    ax_fmt_input in = {.meta_budget = &z->budget, .uri = "part://p", .options = options};
    ax_colspec col[COLUMNS] = {0};
    ax_bind_opts opts = {.match_by = AX_BY_POSITION};
    ax_fmt_bind *bind;
    ax_fmt_event ev;
    ax_fmt_op *op;
    ax_arena *a;
    uint32_t n = 0;

    for (uint32_t i = 0; i < z->n; i++)
        if (strcmp(z->m[i].uri, "part://p/options") == 0 && z->m[i].n < 4000) {
            size_t at = strlen(options);
            memcpy(options + at, z->m[i].bytes, z->m[i].n);
            options[at + z->m[i].n] = '\0';
        }
    if (fmt->open_begin(&z->t, z->t.arena, &in, &op) != AX_OK ||
        ax_fmt_drive(&z->t, z->io, fmt, op, NULL, NULL, &ev) != AX_OK)
        return;
    z->f = ev.file;
    for (uint32_t i = 0; i < z->f->schema.n && n < COLUMNS; i++)
        if (z->f->schema.field[i].refusal == NULL) {
            col[n] = (ax_colspec){.name = z->f->schema.field[i].name,
                                  .field_id = -1,
                                  .position = i,
                                  .type = z->f->schema.field[i].type};
            n++;
        }
    a = ax_arena_create(&z->budget, 0);
    if (a != NULL && n > 0 && fmt->bind(&z->t, a, z->f, col, n, &opts, &bind) == AX_OK)
        ask_all(z, a, bind, col);
    ax_error_clear(&z->t.err);
    ax_arena_destroy(a);
    ax_fmt_file_unref(z->f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_run(data, size, use);
    return 0;
}
