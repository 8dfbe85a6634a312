"""What `run` says about its numbers: the figures, the Markdown tables, the plots."""
import math

OURS = "analytics_fdw"

# CPU milliseconds that the building blocks of a query cost together on one thread, for 10 M generated
# rows on a 2-core Zen 5 machine: decompression, decoding, hashing, searching, each measured alone.
FLOOR_MS = {3: 65, 4: 130, 5: 140, 8: 200, 9: 230, 12: 150, 13: 250, 14: 170, 15: 130, 16: 280, 17: 120, 18: 550,
            20: 490, 21: 500, 22: 700, 23: 300, 24: 80, 25: 90, 26: 80, 27: 500, 28: 550, 30: 180, 31: 250, 32: 320,
            33: 800, 34: 800, 35: 100, 39: 110}
LONGEST = 15


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def slack(ms):
    """What a query may take beside a peer's time."""
    return 1.2 * ms + 5


def compare(queries, peers):
    """For each peer, and for the better of them per query: the figures of the closing lines."""
    res = {}
    for name in peers + ["best of them"] * (len(peers) > 1):
        pairs, cpu = [], []
        for r in queries:
            theirs = [r["ms"][p] for p in (peers if name not in peers else [name]) if p in r["ms"]]
            if OURS in r["ms"] and theirs:
                pairs.append((r["query"], r["ms"][OURS], min(theirs)))
                least = min(r["cpu_ms"][p] for p in (peers if name not in peers else [name]) if p in r["ms"])
                if r["cpu_ms"][OURS] > 0 and least > 0:
                    cpu.append((r["cpu_ms"][OURS], least))
        if not pairs:
            continue
        res[name] = {
            "geomean": geomean([a / b for _, a, b in pairs]),
            "sum": sum(a for _, a, _ in pairs) / sum(b for _, _, b in pairs),
            "floor_geomean": geomean([a / b for q, a, b in pairs if q in FLOOR_MS]),
            "floor_queries": sum(q in FLOOR_MS for q, _, _ in pairs),
            "queries": len(pairs),
            "cpu_geomean": geomean([a / b for a, b in cpu]),
            "cpu_sum": sum(a for a, _ in cpu) / sum(b for _, b in cpu) if cpu else None,
            "above": [(q, a, b) for q, a, b in pairs if a > slack(b)],
        }
    return res


def bytes_above(queries, peers):
    """[(query, our bytes, the least of the peers, which)] where we read more."""
    out = []
    for r in queries:
        theirs = {p: r["bytes"][p] for p in peers if r["bytes"].get(p) is not None}
        ours = r["bytes"].get(OURS)
        if ours is not None and theirs:
            p = min(theirs, key=theirs.get)
            if ours > theirs[p]:
                out.append((r["query"], ours, theirs[p], p))
    return out


def fixed(v, digits=3):
    return "-" if v is None else f"{v:.{digits}f}"


def closing(res):
    """The closing lines; the last one is the geometric mean for every peer."""
    lines = []
    for name, c in res["compare"].items():
        lines.append(f"our time / {name}: geomean {fixed(c['geomean'])}, sum {fixed(c['sum'])}, geomean of the "
                     f"{c['floor_queries']} queries with a floor {fixed(c['floor_geomean'])} ({c['queries']} queries); CPU time: geomean {fixed(c['cpu_geomean'])}, "
                     f"sum {fixed(c['cpu_sum'])}")
        lines.append(f"above 1.2 x {name} + 5 ms: "
                     + (", ".join(f"Q{q} ({a:.0f} against {b:.0f})" for q, a, b in c["above"]) or "none"))
    if res["cold"] and res["peers"]:
        above = bytes_above(res["queries"], res["peers"])
        lines.append("more bytes read than the least of the peers: "
                     + (", ".join(f"Q{q} ({a / 1e6:.1f} MB, {p} {b / 1e6:.1f})" for q, a, b, p in above) or "none"))
    lines += scaling_lines(res)
    means = " ".join(f"{p}={fixed(res['compare'].get(p, {}).get('geomean'))}" for p in res["peers"])
    lines.append(f"geomean {'cold' if res['cold'] else 'hot'} ratio: {means}")
    return lines


# ---------------------------------------------------------------- scaling

def scaling_table(res, name=OURS):
    """Rows (threads, sum of times, speed-up, of the longest queries: geomean, least and its query)."""
    runs = res.get("scaling") or []
    out = []
    if not runs:
        return out
    base = runs[0]["ms"].get(name, {})
    longest = sorted(base, key=base.get, reverse=True)[:LONGEST]
    for run in runs:
        ms = run["ms"].get(name, {})
        up = {q: base[q] / ms[q] for q in longest if q in ms}
        both = [q for q in base if q in ms]
        if up:
            worst = min(up, key=up.get)
            out.append((run["threads"], sum(ms[q] for q in both), sum(base[q] for q in both) / sum(ms[q] for q in both),
                        geomean(list(up.values())), up[worst], worst))
    return out


def slower_with_more(res, name=OURS):
    """{threads: [(query, ms, best ms with fewer threads)]} where more threads cost more than a tenth."""
    best, out = {}, {}
    for run in res.get("scaling") or []:
        ms = run["ms"].get(name, {})
        out[run["threads"]] = [(q, ms[q], best[q]) for q in ms if q in best and ms[q] > 1.1 * best[q] + 1]
        best = {q: min(v, best.get(q, math.inf)) for q, v in ms.items()}
    return out


def scaling_lines(res):
    slower = slower_with_more(res)
    return [f"{t} threads: sum {total:.0f} ms, {up:.2f} x the first; the {LONGEST} longest: geomean {mean:.2f}, "
            f"least {least:.2f} (Q{q}); more than a tenth slower than with fewer: "
            + (", ".join(f"Q{k} ({a:.0f} against {b:.0f})" for k, a, b in slower[t]) or "none")
            for t, total, up, mean, least, q in scaling_table(res)]


# ---------------------------------------------------------------- Markdown

def markdown(res):
    names = [OURS] + res["peers"]
    kind = "cold: a fresh process and connection for every query, its files not in the page cache" \
        if res["cold"] else f"best of {res['runs']} after one warm-up"
    md = [f"# ClickBench queries, {res['rows']:,} rows", "",
          f"{res['date']}, commit {res['commit']}; {res['machine']}; {res['threads']} threads; memory limit {res['memory']}; "
          f"{kind}. Data: {res['data']}, {res['file_bytes'] / 1e6:.0f} MB.", "",
          "; ".join(f"{k}: {v}" for k, v in res["versions"].items()) + ".", ""]
    md += [f"- {s}" for s in closing(res)] + [""]
    head = [f"{n} ms" for n in names] + [f"/ {p}" for p in res["peers"]] + ["CPU ms " + " / ".join(names), "CPU / floor"]
    if res["cold"]:
        head += ["MB read " + " / ".join(names), "peak MB " + " / ".join(names)]
    else:
        head += ["rows from the scan " + " / ".join(names)]
    head += ["one Foreign Scan", "answer"]
    md += ["| Q | " + " | ".join(head) + " |", "|" + "---|" * (len(head) + 1)]
    for r in res["queries"]:
        cells = [fixed(r["ms"].get(n), 1) for n in names]
        cells += [fixed(r["ms"][OURS] / r["ms"][p], 2) if OURS in r["ms"] and p in r["ms"] else "-" for p in res["peers"]]
        cells.append(" / ".join(fixed(r["cpu_ms"].get(n), 0) for n in names))
        floor = FLOOR_MS.get(r["query"])
        cells.append(fixed(r["cpu_ms"][OURS] / (floor * res["rows"] / 1e7), 1) if floor and OURS in r["cpu_ms"] else "")
        if res["cold"]:
            cells.append(" / ".join("-" if r["bytes"].get(n) is None else f"{r['bytes'][n] / 1e6:.1f}" for n in names))
            cells.append(" / ".join(fixed(r["peak_mb"].get(n), 0) for n in names))
        else:
            cells.append(" / ".join("-" if r["scanned"].get(n) is None else f"{r['scanned'][n]:,}" for n in names))
        bad = [f"{p}: {d}" for p, d in r["known"].items()]
        bad += [f"differs from {p}" for p, d in r["check"].items() if d] + [f"{s} failed" for s in r["error"]]
        cells += ["yes" if r.get("pushed") else "no", "; ".join(bad) or ("equal" if r["check"] else "not compared")]
        md.append(f"| {r['query']} | " + " | ".join(cells) + " |")
    total = {n: sum(r["ms"].get(n, 0) for r in res["queries"]) for n in names}
    md.append("| sum | " + " | ".join(f"{total[n]:.0f}" for n in names) + " |" + " |" * (len(head) - len(names)))
    if res.get("scaling"):
        md += ["", "## Threads", "", "| system | threads | sum of times, ms | speed-up | "
               f"{LONGEST} longest: geomean | least |", "|---|---|---|---|---|---|"]
        for n in names:
            md += [f"| {n} | {t} | {s:.0f} | {up:.2f} | {mean:.2f} | {least:.2f} (Q{q}) |"
                   for t, s, up, mean, least, q in scaling_table(res, n)]
    return "\n".join(md) + "\n"


# ---------------------------------------------------------------- plots

def figure(rows, width, height, ratios=None):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    return plt.subplots(rows, 1, figsize=(width, height), height_ratios=ratios, squeeze=False)


def bars(ax, res, names, value, unit):
    """Bars side by side, one group a query; zero and missing values have no bar on the log scale."""
    qs = [r["query"] for r in res["queries"]]
    width = 0.8 / len(names)
    for i, n in enumerate(names):
        at = [k + (i - (len(names) - 1) / 2) * width for k in range(len(qs))]
        ax.bar(at, [value(r, n) or math.nan for r in res["queries"]], width, label=n, color=f"C{i}")
    ax.set_yscale("log")
    ax.set_ylabel(unit)
    ax.set_xticks(range(len(qs)), [f"Q{q}" for q in qs], rotation=90)
    ax.grid(axis="y", alpha=0.3)
    ax.legend()


def plot_times(res, path):
    names, n = [OURS] + res["peers"], len(res["queries"])
    fig, axes = figure(2, max(8, 0.38 * n + 3), 8, [3, 2])
    top, low = axes[0][0], axes[1][0]
    bars(top, res, names, lambda r, s: r["ms"].get(s), "ms, cold (log)" if res["cold"] else f"ms, best of {res['runs']} (log)")
    top.set_title(f"ClickBench queries, {res['rows']:,} rows, {res['threads']} threads")
    for i, p in enumerate(res["peers"]):
        low.plot(range(n), [r["ms"][OURS] / r["ms"][p] if OURS in r["ms"] and p in r["ms"] else math.nan
                            for r in res["queries"]], "o", color=f"C{i + 1}",
                 label=f"{OURS} / {p}, geometric mean {fixed(res['compare'].get(p, {}).get('geomean'), 2)}")
    low.axhline(1, color="black", linewidth=0.8)
    low.set_yscale("log")
    low.set_ylabel("time ratio (below 1: faster)")
    low.set_xticks(range(n), [f"Q{r['query']}" for r in res["queries"]], rotation=90)
    low.grid(axis="y", alpha=0.3)
    if res["peers"]:
        low.legend()
    fig.tight_layout()
    fig.savefig(path, dpi=110)


def plot_read(res, path):
    names, n = [OURS] + res["peers"], len(res["queries"])
    fig, axes = figure(2, max(8, 0.38 * n + 3), 8)
    bars(axes[0][0], res, names, lambda r, s: (r["bytes"].get(s) or 0) / 1e6, "MB read (log)")
    axes[0][0].set_title("Bytes read" + ("" if res["cold"] else " by the first execution (data in own caches is not read again)"))
    bars(axes[1][0], res, names, lambda r, s: r["scanned"].get(s), "rows from the scan (log)")
    axes[1][0].set_title("Rows that came out of the scan, as each system counts them")
    fig.tight_layout()
    fig.savefig(path, dpi=110)


def plot_scaling(res, path):
    names, runs = [OURS] + res["peers"], res["scaling"]
    fig, axes = figure(2, 8, 9)
    top, low = axes[0][0], axes[1][0]
    most = max(r["threads"] for r in runs)
    for i, n in enumerate(names):
        t = scaling_table(res, n)
        top.plot([x[0] for x in t], [x[3] for x in t], "o-", color=f"C{i}", label=n)
        low.plot([x[0] for x in t], [x[1] / 1000 for x in t], "o-", color=f"C{i}", label=n)
    cores, first = res["cores"], runs[0]["threads"]
    top.plot([first, max(first, min(cores, most)), most], [1, max(1, min(cores, most) / first)] + [max(1, min(cores, most) / first)],
             "k--", linewidth=0.8, label=f"linear, {cores} cores")
    top.set_ylabel(f"speed-up, geometric mean of the {LONGEST} longest")
    low.set_ylabel("sum of times, s")
    for ax in (top, low):
        ax.set_xscale("log", base=2)
        ax.set_xticks([r["threads"] for r in runs], [str(r["threads"]) for r in runs])
        ax.set_xlabel("threads")
        ax.set_ylim(bottom=0)
        ax.grid(alpha=0.3)
        ax.legend()
    fig.tight_layout()
    fig.savefig(path, dpi=110)
