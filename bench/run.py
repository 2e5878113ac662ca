"""The benchmark: measures Plimsoll and PyTorch in alternating rounds on this machine and writes a table, JSON and plots to
bench/out.

    python3 bench/run.py                              everything (make bench)
    python3 bench/run.py --quick                      a few minutes: fewer rounds, small models, PyTorch eager only
    python3 bench/run.py --configs nano,gpt2 --markdown
    python3 bench/run.py --isa avx2                   both sides kept to AVX2

PyTorch is looked for in $PLIMSOLL_PYTHON, build/venv and python3; --install-torch puts it into build/venv.
"""

import argparse
import contextlib
import json
import os
import platform
import statistics
import sys
import time
from datetime import date
from pathlib import Path

import plots
import scaling
import tables
from configs import CONFIGS
from sides import PEER_ISA, ROOT, Failed, OtherWork, Plimsoll, Torch, busy_process, find_torch

QUICK_CONFIGS = ("tiny1", "tiny4", "small1", "small", "nano")
PARTS = ("training", "generation", "busy", "first", "presets", "scaling")


def say(message):
    print(message, file=sys.stderr, flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configs", help=f"comma-separated, of {','.join(CONFIGS)}")
    parser.add_argument("--only", help=f"comma-separated parts, of {','.join(PARTS)}")
    parser.add_argument("--rounds", type=int, help="alternating rounds (7; quick: 3)")
    parser.add_argument("--seconds", type=float, help="length of one measurement (1; quick: 0.3)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--isa", choices=PEER_ISA, default="auto", help="instruction set of both sides (auto: the best)")
    parser.add_argument("--program", default=ROOT / "build" / "plimsoll", help="the plimsoll to measure")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "out")
    parser.add_argument("--quick", action="store_true", help="the short form")
    parser.add_argument("--no-torch", action="store_true", help="measure our side only")
    parser.add_argument("--install-torch", action="store_true", help="put PyTorch into build/venv first if it is not there")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    options = parser.parse_args()
    options.rounds = options.rounds or (3 if options.quick else 7)
    options.seconds = options.seconds or (0.3 if options.quick else 1.0)
    options.configs = choose(parser, options.configs, CONFIGS, QUICK_CONFIGS if options.quick else CONFIGS)
    options.only = choose(parser, options.only, PARTS, PARTS)
    if not os.access(options.program, os.X_OK):
        parser.error(f"{options.program} is not a program; run `make build` first or name one with --program")
    return options


def choose(parser, asked, known, default):
    chosen = asked.split(",") if asked else list(default)
    for name in chosen:
        if name not in known:
            parser.error(f"unknown name {name!r}; expected some of {','.join(known)}")
    return chosen


def start_torch(stack, python, name, options, generate=False):
    servers = []
    for mode in ("eager",) if options.quick else ("eager", "compile"):
        try:
            servers.append(stack.enter_context(Torch(python, name, mode, options.threads, generate, options.isa)))
        except Failed as reason:
            say(f"{name}: PyTorch {mode} does not run: {reason}")
    return servers


def one_round(first, ours, servers, seconds):
    """Every side once, beginning with another one each time, so that none always follows the same neighbour."""
    sides = [("ours", ours)] + [(server.mode, lambda s=server: s.measure(seconds)) for server in servers]
    found = {}
    with OtherWork(servers) as other:
        for index in range(len(sides)):
            mode, measure = sides[(first + index) % len(sides)]
            found[mode] = measure()
            time.sleep(0.1)  # PyTorch's threads spin on for a moment
    found["other_work"] = other.share
    return found


def quiet_rounds(ours, servers, options, most=99):
    """Runs again what other work disturbed, at most as often as rounds were asked for, and keeps the quietest rounds. The choice
    looks at the machine only, never at a result."""
    rounds, wanted = [], min(options.rounds, most)
    while len(rounds) < 2 * wanted:
        rounds.append(one_round(len(rounds), ours, servers, options.seconds))
        if sum(r["other_work"] <= tables.QUIET for r in rounds) >= wanted:
            break
    return sorted(rounds, key=lambda r: r["other_work"])[:wanted]


def middle(rounds, mode, field):
    values = [r[mode][field] for r in rounds if r.get(mode) and r[mode].get(field) is not None]
    return statistics.median(values) if values else None


def summarise(name, rounds):
    config = CONFIGS[name]
    ours = {
        field: middle(rounds, "ours", field)
        for field in ("ms_per_step", "tokens_per_second", "gflops", "sgemm_peak_gflops", "peak_rss_bytes", "plan_bytes")
    }
    times = [r["ours"]["ms_per_step"] for r in rounds]
    result = ours | {"rounds": rounds, "other_work": statistics.median(r["other_work"] for r in rounds)}
    result["spread"] = (max(times) - min(times)) / ours["ms_per_step"]
    result["peak_share"] = ours["gflops"] / ours["sgemm_peak_gflops"] if ours["sgemm_peak_gflops"] else None
    parameters = rounds[0]["ours"].get("parameters")
    if parameters != config.parameters:
        say(f"{name}: not the same model: {parameters} parameters, expected {config.parameters}")
    by_mode = {mode: middle(rounds, mode, "ms_per_step") for mode in ("eager", "compile")}
    result |= {f"{mode}_ms": ms for mode, ms in by_mode.items()}
    measured = {mode: ms for mode, ms in by_mode.items() if ms is not None}
    if measured:
        best = min(measured, key=measured.get)
        result["torch_mode"], result["ratio"] = best, measured[best] / ours["ms_per_step"]
        result["torch_tokens_per_second"] = config.tokens * 1e3 / measured[best]
        result["torch_peak_rss_bytes"] = middle(rounds, best, "peak_rss_bytes")
    return result


def measure_beside_busy(name, calm, plimsoll, servers, options, processes):
    """Fewer rounds: what is looked for is a factor, not a percentage. PyTorch's better mode under load is its figure."""
    seconds = max(options.seconds, 1.0)
    with contextlib.ExitStack() as stack:
        for _ in range(processes):
            stack.enter_context(busy_process())
        rounds = [
            one_round(n, lambda: plimsoll.bench(name, seconds), servers, seconds) for n in range(max(3, options.rounds // 2))
        ]
    ours = middle(rounds, "ours", "ms_per_step")
    result = {"rounds": rounds, "ours_ms": ours, "ours": ours / calm["ms_per_step"]}
    slowed = [middle(rounds, server.mode, "ms_per_step") for server in servers]
    if slowed:
        result["torch_ms"] = min(slowed)
        result["torch"] = min(slowed) / min(ms for ms in (calm["eager_ms"], calm["compile_ms"]) if ms is not None)
    return result


def measure_training(plimsoll, python, options, results):
    results["training"] = {}
    for name in options.configs:
        say(f"{name} …")
        try:
            with contextlib.ExitStack() as stack:
                servers = start_torch(stack, python, name, options) if python else []
                rounds = quiet_rounds(lambda: plimsoll.bench(name, options.seconds), servers, options, CONFIGS[name].most_rounds)
                result = results["training"][name] = summarise(name, rounds)
                if name == "nano" and "busy" in options.only:
                    results["beside_busy"] = {}
                    for processes, beside in ((1, "nano beside one busy process"), (2, "nano beside two busy processes")):
                        say(f"{beside} …")
                        busy = measure_beside_busy(name, result, plimsoll, servers, options, processes)
                        results["beside_busy"][beside] = busy
                eager = [server.ready["time_to_first_step"] for server in servers if server.mode == "eager"]
                if name.startswith("tiny") and eager:
                    results.setdefault("time_to_first_step", {})["torch"] = eager[0]
        except Failed as reason:
            say(f"{name}: {reason}")


def measure_generation(plimsoll, python, options):
    results = {}
    for name in ("nano", "gpt2"):
        if name not in options.configs:
            continue
        say(f"generation {name} …")
        try:
            with contextlib.ExitStack() as stack:
                servers = start_torch(stack, python, name, options, generate=True) if python else []
                rounds = quiet_rounds(lambda: plimsoll.generate(name, options.seconds), servers, options)
                result = {"ours": middle(rounds, "ours", "tokens_per_second"), "rounds": rounds}
                result["share_of_read"] = middle(rounds, "ours", "share_of_read")
                rates = [middle(rounds, server.mode, "tokens_per_second") for server in servers]
                if rates:
                    result |= {"torch": max(rates), "ratio": result["ours"] / max(rates)}
                results[name] = result
        except Failed as reason:
            say(f"generation {name}: {reason}")
    return results


def measure_presets(plimsoll, quick):
    results = {}
    for preset, iterations, claimed in (("tiny", 2000, 3300), ("small", 1000 if quick else 10000, 100)):
        command = f"train --{preset} {iterations}"
        say(f"{command} …")
        try:
            rate = plimsoll.train(preset, iterations)["iterations_per_second"]
            results[command] = {"iterations_per_second": rate, "claimed": claimed}
        except Failed as reason:
            say(f"{command}: {reason}")
    return results


def measure_first_step(plimsoll, options):
    try:
        return statistics.median(plimsoll.time_to_first_step() for _ in range(options.rounds))
    except Failed as reason:
        say(f"time to first step: {reason}")
        return None


def facts_about(plimsoll, torch_version, options):
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.machine(),
        "cores": os.cpu_count(),
        "threads": options.threads,
        "isa": options.isa,
        "system": f"{platform.system()} {platform.release()}",
        "plimsoll": plimsoll.version(),
        "torch": torch_version,
        "python": platform.python_version(),
        "date": date.today().isoformat(),
        "rounds": options.rounds,
    }


def write(results, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (folder / "table.md").write_text(tables.report(results, tables.markdown) + "\n")
    rows = [
        (name, r["ratio"], CONFIGS[name].passing, CONFIGS[name].aim)
        for name, r in results["training"].items()
        if r.get("ratio")
    ]
    if rows:
        (folder / "ratios.svg").write_text(plots.bars("Training step: PyTorch's time over ours", rows))
    if results.get("scaling"):
        (folder / "scaling.svg").write_text(scaling.draw(results["scaling"]))


def main():
    options = parse_arguments()
    python, torch_version = (None, None) if options.no_torch else find_torch(options.install_torch)
    if not python:
        absent = "PyTorch is not installed here, only our column follows; --install-torch or $PLIMSOLL_PYTHON gives the other."
        say("PyTorch is left out as asked." if options.no_torch else absent)
    plimsoll = Plimsoll(options.program, options.threads, options.isa)
    results = {"facts": facts_about(plimsoll, torch_version, options), "training": {}}
    if {"training", "busy"} & set(options.only):
        measure_training(plimsoll, python, options, results)
    if "generation" in options.only:
        results["generation"] = measure_generation(plimsoll, python, options)
    if "first" in options.only:
        results.setdefault("time_to_first_step", {})["ours"] = measure_first_step(plimsoll, options)
    if "presets" in options.only:
        results["presets"] = measure_presets(plimsoll, options.quick)
    if "scaling" in options.only:
        say("scaling …")
        results["scaling"] = scaling.measure(plimsoll, options.quick, options.seconds / 2, say)
    write(results, options.out)
    print(tables.report(results, tables.markdown if options.markdown else tables.plain))
    say(f"written to {options.out}")
    return 0 if results["training"] or "training" not in options.only else 1


if __name__ == "__main__":
    sys.exit(main())
