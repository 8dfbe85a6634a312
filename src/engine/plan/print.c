/* Plans as text, one line a node, and as a Graphviz graph; for EXPLAIN, axq and tests. */
#include "plan/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EXPR_BYTES 4096u
#define MAX_DEPTH 256u

static const char *const node_names[AX_N_CNT] = {
    [AX_N_NONE] = "None",
#define AX_NODE(id, name) [AX_N_##id] = name,
#include "plan/nodes.def"
#undef AX_NODE
};

/* Text that grows in an arena; `text` is NULL after memory ran out. */
typedef struct out
{
    ax_arena *a;
    char *text;
    size_t len, cap;
} out;

static AX_PRINTF(2, 3) void add(out *o, const char *fmt, ...)
{
    for (;;)
    {
        size_t room = o->cap - o->len;
        va_list ap;
        char *grown;
        int n;

        if (o->text == NULL)
            return;
        va_start(ap, fmt);
        n = vsnprintf(o->text + o->len, room, fmt, ap);
        va_end(ap);
        if (n < 0)
            return;
        if ((size_t) n < room)
        {
            o->len += (size_t) n;
            return;
        }
        grown = (char *) ax_arena_alloc(o->a, o->cap * 2 + (size_t) n);
        if (grown != NULL)
            memcpy(grown, o->text, o->len + 1);
        o->text = grown;
        o->cap = o->cap * 2 + (size_t) n;
    }
}

static void add_expr(out *o, const ax_expr *e, const char *const *names)
{
    char text[EXPR_BYTES];

    (void) ax_expr_print(e, names, text, sizeof text);
    add(o, "%s", text);
}

static void add_exprs(out *o, const char *label, ax_expr *const *e, uint32_t n, const char *sep,
                      const char *const *names)
{
    if (n == 0)
        return;
    add(o, " %s(", label);
    for (uint32_t i = 0; i < n; i++)
    {
        add(o, "%s", i > 0 ? sep : "");
        add_expr(o, e[i], names);
    }
    add(o, ")");
}

static void add_column(out *o, const char *const *names, uint32_t col)
{
    if (names[col] != NULL)
        add(o, "%s", names[col]);
    else
        add(o, "$%u", col);
}

static void add_keys(out *o, const ax_sort_key *key, uint32_t n, const ax_node *child)
{
    add(o, " by (");
    for (uint32_t i = 0; i < n; i++)
    {
        add(o, "%s", i > 0 ? ", " : "");
        add_column(o, child->name, key[i].col);
        add(o, "%s%s", key[i].desc ? " desc" : "",
            key[i].nulls_first == key[i].desc ? ""
            : key[i].nulls_first              ? " nulls first"
                                              : " nulls last");
    }
    add(o, ")");
}

static void add_bounds(out *o, const ax_expr *limit, const ax_expr *offset)
{
    if (limit != NULL)
    {
        add(o, " limit ");
        add_expr(o, limit, NULL);
    }
    if (offset != NULL)
    {
        add(o, " offset ");
        add_expr(o, offset, NULL);
    }
}

static void add_calls(out *o, const ax_node *n, const char *const *names)
{
    for (uint32_t i = 0; i < n->u.agg.ncalls; i++)
    {
        const ax_agg_call *c = &n->u.agg.call[i];

        add(o, "%s%s(%s", i > 0 ? ", " : " ", ax_agg_name((ax_agg_id) c->agg),
            c->distinct ? "distinct " : "");
        if (c->arg != NULL)
            add_expr(o, c->arg, names);
        else
            add(o, "*");
        if (c->arg2 != NULL)
        {
            add(o, ", ");
            add_expr(o, c->arg2, names);
        }
        add(o, ")");
        if (c->filter != NULL)
        {
            add(o, " filter (");
            add_expr(o, c->filter, names);
            add(o, ")");
        }
    }
}

static void add_join(out *o, const ax_node *n)
{
    static const char *const kinds[] = {"inner", "left", "right", "full", "semi", "anti"};

    add(o, " %s", kinds[n->u.join.kind]);
    for (uint32_t i = 0; i < n->u.join.nkeys; i++)
    {
        add(o, "%s", i > 0 ? " and " : " on ");
        add_expr(o, n->u.join.left_key[i], n->child[0]->name);
        add(o, " = ");
        add_expr(o, n->u.join.right_key[i], n->child[1]->name);
    }
    add_exprs(o, "where", n->u.join.residual, n->u.join.nresidual, " and ", n->name);
}

static void add_scan(out *o, const ax_node *n)
{
    add(o, " (");
    for (uint32_t i = 0; i < n->ncols; i++)
    {
        add(o, "%s", i > 0 ? ", " : "");
        add_column(o, n->name, i);
    }
    add(o, ")");
    add_exprs(o, "where", n->u.scan.conj, n->u.scan.nconj, " and ", n->name);
}

/* One node without its children. */
static void add_node(out *o, const ax_node *n)
{
    static const char *const setops[] = {"union all", "union", "intersect", "except"};
    const char *const *names = n->nchild > 0 ? n->child[0]->name : NULL;

    add(o, "%s", node_names[n->kind < AX_N_CNT ? n->kind : AX_N_NONE]);
    switch ((ax_node_kind) n->kind)
    {
    case AX_N_SCAN:
        add_scan(o, n);
        break;
    case AX_N_EXTERNAL_INPUT:
        add(o, " %u", n->u.external.input);
        break;
    case AX_N_FILTER:
        add_exprs(o, "where", n->u.filter.conj, n->u.filter.nconj, " and ", names);
        break;
    case AX_N_PROJECT:
        add_exprs(o, "", n->u.project.expr, n->ncols, ", ", names);
        break;
    case AX_N_AGGREGATE:
        add_exprs(o, "by", n->u.agg.key, n->u.agg.nkeys, ", ", names);
        add_calls(o, n, names);
        break;
    case AX_N_SORT:
    case AX_N_TOPN:
        add_keys(o, n->u.sort.key, n->u.sort.nkeys, n->child[0]);
        add_bounds(o, n->u.sort.limit, n->u.sort.offset);
        break;
    case AX_N_LIMIT:
        add_bounds(o, n->u.limit.limit, n->u.limit.offset);
        break;
    case AX_N_SETOP:
        add(o, " %s%s", setops[n->u.setop.kind],
            n->u.setop.all && n->u.setop.kind != AX_SET_UNION_ALL ? " all" : "");
        break;
    case AX_N_ORDERED_MERGE:
        add_keys(o, n->u.merge.key, n->u.merge.nkeys, n->child[0]);
        break;
    case AX_N_JOIN:
        add_join(o, n);
        break;
    default:
        break;
    }
    if (n->est_rows > 0)
        add(o, " [~%.0f rows]", n->est_rows);
}

static void print_text(out *o, const ax_node *n, uint32_t depth)
{
    if (depth > MAX_DEPTH)
        return;
    add(o, "%*s", (int) (2 * depth), "");
    add_node(o, n);
    add(o, "\n");
    for (uint32_t i = 0; i < n->nchild; i++)
        print_text(o, n->child[i], depth + 1);
}

/* The label of a node with what Graphviz needs escaped. */
static void add_label(out *o, const ax_node *n)
{
    out label = {o->a, (char *) ax_arena_alloc(o->a, 256), 0, 256};

    if (label.text != NULL)
        label.text[0] = '\0';
    add_node(&label, n);
    if (label.text == NULL)
    {
        o->text = NULL;
        return;
    }
    for (const char *c = label.text; *c != '\0'; c++)
        add(o, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c == '\n' ? ' ' : *c);
}

static void print_dot(out *o, const ax_node *n, uint32_t depth)
{
    if (depth > MAX_DEPTH)
        return;
    add(o, "  n%u [label=\"", n->id);
    add_label(o, n);
    add(o, "\"];\n");
    for (uint32_t i = 0; i < n->nchild; i++)
    {
        print_dot(o, n->child[i], depth + 1);
        add(o, "  n%u -> n%u;\n", n->child[i]->id, n->id);
    }
}

const char *ax_plan_print(const ax_plan *p, ax_arena *a, bool dot)
{
    out o = {a, (char *) ax_arena_alloc(a, 1024), 0, 1024};

    if (o.text == NULL)
        return NULL;
    o.text[0] = '\0';
    if (dot)
        add(&o, "digraph plan {\n  rankdir=BT;\n  node [shape=box];\n");
    if (p->root != NULL)
        (dot ? print_dot : print_text)(&o, p->root, 0);
    if (dot)
        add(&o, "}\n");
    return o.text;
}
