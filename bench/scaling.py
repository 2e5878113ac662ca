"""Measures scaling: time per token and plan size for different numbers of layers, widths, contexts and batches, each varied
separately."""

import math

import plots
from configs import Config
from sides import Failed

BASE = {"vocab": 65, "context": 64, "layers": 4, "heads": 4, "dim": 128, "batch": 8}
SWEEPS = {
    "layers": (1, 2, 4, 8, 16),
    "dim": (64, 128, 256, 512, 1024),
    "context": (32, 64, 128, 256, 512, 1024),
    "batch": (1, 2, 4, 8, 16, 32, 64),
}


def sweep(plimsoll, field, values, seconds):
    points = []
    for value in values:
        shape = BASE | {field: value}
        if field == "dim":
            shape["heads"] = max(1, value // 32)  # heads of the same size, so that only the width changes
        measured = plimsoll.bench_shape(shape, seconds)
        config = Config(**shape)
        points.append({
            field: value,
            "us_per_token": measured["ms_per_step"] * 1e3 / config.tokens,
            "plan_bytes": measured["plan_bytes"],
            "flops_per_token": config.flops_per_step / config.tokens,
        })  # fmt: skip
    return points


def measure(plimsoll, quick, seconds, say):
    results = {}
    for field, values in SWEEPS.items():
        try:
            results[field] = sweep(plimsoll, field, values[::2] if quick else values, seconds)
        except Failed as reason:
            say(f"scaling over {field}: {reason}")
    return results


def growth(field, points):
    """From the middle of a sweep to its end: by what factor time grew beyond the work, and the power of the field by which the
    plan grew. A cost that hides something quadratic shows as a factor well above 1 or a power above 1 (2 for the width)."""
    middle, last = points[len(points) // 2], points[-1]

    def grown(what):
        return last[what] / middle[what]

    return grown("us_per_token") / grown("flops_per_token"), math.log(grown("plan_bytes")) / math.log(grown(field))


def draw(results):
    """Dashed beside the measured time: what it would be if every point ran at the speed of the sweep's last one."""
    times, plans = [], []
    for field, points in results.items():
        scale = points[-1]["us_per_token"] / points[-1]["flops_per_token"]
        measured = [(p[field], p["us_per_token"]) for p in points]
        work = [(p[field], p["flops_per_token"] * scale) for p in points]
        times.append((f"µs per token against {field}", [("measured", measured, False), ("as the work grows", work, True)]))
        totals = [(p[field], p["plan_bytes"]) for p in points]
        plans.append((f"plan, bytes, against {field}", [("the plan's total", totals, False)]))
    base = ", ".join(f"{field} {value}" for field, value in BASE.items())
    return plots.panels(f"One field varied at a time from {base}", [times, plans])
