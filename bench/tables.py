"""The benchmark's results as text for a terminal and as Markdown for docs/performance.md."""

import scaling
from configs import CONFIGS

MB = 1e6
QUIET = 0.10  # share of a core other processes may take in a round; PyTorch slows down more than we do beside them


def number(value, digits=3):
    """Three significant digits, thousands separated; a dash for what was not measured."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.{digits}g}"


def marked(value, reached, suffix=""):
    return number(value) + suffix + ("" if value is None else " ok" if reached else " SHORT")


def disturbed(result):
    return result.get("other_work", 0) > QUIET


def training_rows(results):
    header = ["config", "ours ms", "eager ms", "compile ms", "ratio", "pass / aim", "tokens/s", "PyTorch tokens/s"]
    header += ["GFLOP/s", "of sgemm peak", "RSS MB", "limit", "PyTorch RSS MB", "plan MB", "spread", "other work"]
    rows = [header]
    for name, r in results.items():
        config, ratio, share, rss = CONFIGS[name], r.get("ratio"), r.get("peak_share"), r.get("peak_rss_bytes")
        rows.append([
            name,
            number(r.get("ms_per_step")),
            number(r.get("eager_ms")),
            number(r.get("compile_ms")),
            number(ratio) + " DISTURBED" if ratio and disturbed(r) else marked(ratio, ratio and ratio >= config.passing),
            f"{config.passing:g} / {config.aim:g}",
            number(r.get("tokens_per_second")),
            number(r.get("torch_tokens_per_second")),
            number(r.get("gflops")),
            marked(share and share * 100, not config.peak_share or (share and share >= config.peak_share), " %"),
            marked(rss and rss / MB, not config.rss_limit or (rss and rss <= config.rss_limit)),
            number(config.rss_limit / MB) if config.rss_limit else "–",
            number(r["torch_peak_rss_bytes"] / MB) if r.get("torch_peak_rss_bytes") else "–",
            number(r["plan_bytes"] / MB) if r.get("plan_bytes") else "–",
            f"{r['spread'] * 100:.0f} %" if "spread" in r else "–",
            f"{r['other_work'] * 100:.0f} %" if "other_work" in r else "–",
        ])  # fmt: skip
    return rows


def further_rows(results):
    rows = [["measure", "ours", "PyTorch", "note"]]
    for name, g in results.get("generation", {}).items():
        note = f"{number(g['ratio'])}x, key-value cache, batch 1" if g.get("ratio") else "key-value cache, batch 1"
        if g.get("share_of_read"):
            note += f"; weights read at {g['share_of_read'] * 100:.0f} % of the machine's speed"
        rows.append([f"generation {name}, tokens/s", number(g.get("ours")), number(g.get("torch")), note])
    for name, s in results.get("beside_busy", {}).items():
        rows.append([
            f"{name}, slow-down",
            number(s.get("ours")) + ("x" if s.get("ours") else ""),
            number(s.get("torch")) + ("x" if s.get("torch") else ""),
            f"{number(s.get('ours_ms'))} and {number(s.get('torch_ms'))} ms per step",
        ])  # fmt: skip
    if first := results.get("time_to_first_step"):
        ours = first.get("ours")
        note = "tiny; ours at most 100 ms; PyTorch eager"
        rows.append([
            "time to first step, ms",
            marked(ours and ours * 1e3, ours and ours <= 0.1),
            number(first["torch"] * 1e3) if first.get("torch") else "–",
            note,
        ])  # fmt: skip
    for name, t in results.get("presets", {}).items():
        rate = t.get("iterations_per_second")
        ours = marked(rate, rate and rate >= t["claimed"])
        rows.append([f"{name}, iterations/s", ours, "–", f"claimed before: {t['claimed']:,}"])
    for field, points in results.get("scaling", {}).items():
        beyond, power = scaling.growth(field, points)
        note = f"{points[len(points) // 2][field]} to {points[-1][field]}; the plan grows with power {power:.2f}"
        rows.append([f"growth of time over growth of work, {field}", number(beyond), "–", note])
    return rows


def plain(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def markdown(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)


def heading(facts):
    return (
        f"{facts['processor']}, {facts['cores']} cores, {facts['threads']} threads, {facts['system']}, instruction set {facts['isa']}; "
        f"{facts['plimsoll']}, PyTorch {facts['torch'] or 'not measured'}; {facts['date']}; "
        f"medians of {facts['rounds']} alternating rounds"
    )


def report(results, form):
    """form: plain or markdown."""
    parts = [heading(results["facts"]), form(training_rows(results["training"]))]
    if any(map(disturbed, results["training"].values())):
        parts.append("DISTURBED: other work took more than a tenth of a core in most rounds; that ratio proves nothing.")
    further = further_rows(results)
    if len(further) > 1:
        parts.append(form(further))
    return "\n\n".join(parts)
