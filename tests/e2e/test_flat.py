"""Trainer, watcher and server stay flat: --small under `watch --serve`, its page open in a browser if there is one. The long form is at
least 50,000 iterations and half an hour."""
import browser
from serving import *

needs_plain_memory("the resident memory of three processes must not move by 1 MB")

ITERATIONS = 50_000 if LONG else 100
SECONDS = 1800 if LONG else 5
BAND = 1_000_000
SETTLED = 0.1  # of the samples: pages of code that is used for the first time are still coming in


def trainer_below(pid):
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == pid and b"\0train\0" in (entry.parent / "cmdline").read_bytes():
                return int(entry.parent.name)
        except OSError:
            continue
    return None


def step_of(served):
    return served.metrics().get("plimsoll_train_step", 0)


def test_three_processes_stay_flat(folder):
    served = Served(folder, "watch", "--serve", "--out", "watch.db", "--", PROGRAM, "train", "--small", 100_000_000, "--out", "run").begun()
    trainer = until(lambda: trainer_below(served.running.process.pid), why="the trainer is not there")
    pids = {"trainer": trainer, "watcher": served.running.process.pid, "server": served.pid}
    seen = {name: [] for name in pids}
    tab = browser.Browser() if browser.find() and "text/html" in served.get("/")[2]["Content-Type"] else None
    began = time.monotonic()
    try:
        if tab:
            tab.open(f"{ENTRY}{served.port}/")
            tab.wait("document.querySelector('.badge.live') !== null")
        while time.monotonic() < began + SECONDS or step_of(served) < ITERATIONS:
            for name, pid in pids.items():
                seen[name].append(resident(pid))
            time.sleep(1 if LONG else .1)
        iterations = step_of(served)
    finally:
        if tab:
            tab.close()
        served.running.send(signal.SIGINT)
        served.running.wait()
    bands = {}
    for name, values in seen.items():
        settled = values[int(SETTLED * len(values)):]
        bands[name] = max(settled) - min(settled)
    said = f"{iterations:.0f} iterations, {time.monotonic() - began:.0f} s: " + ", ".join(
        f"{name} {max(seen[name]) / 1e6:.1f} MB, band {band / 1e6:.2f} MB" for name, band in bands.items())
    # Server and watcher still fill their tables in the first minutes.
    assert all(band <= BAND for name, band in bands.items() if LONG or name == "trainer"), said
    return said + ("" if tab else ", no browser here")


run_tests(globals())
