#!/usr/bin/env python3
"""Memory bombs at full speed in a control group of 300 MB: the guard acts before the kernel does, and stops the right process."""
import atexit
import shutil
import struct
import tempfile

from guarding import SPECIMENS, Group, state
from harness import LONG, PROGRAM, Path, needs_plain_memory, environment, json, os, subprocess, sys, time

LIMIT = 300_000_000
REACTION = 0.100
BASE = Path(tempfile.mkdtemp(prefix="plimsoll-bomb-"))
atexit.register(shutil.rmtree, BASE, True)


def one(number, stubborn):
    """One bomb beside an innocent sibling that holds 40 MB; returns (reaction in seconds, the guard's report)."""
    times = BASE / f"times-{number}"
    script = (f'"{SPECIMENS}/quiet_neighbour" 40 & echo $! > {BASE}/sibling; sleep 0.3; '
              f'"{SPECIMENS}/bomb" {times} 2000 {"stubborn" if stubborn else ""}; '
              f'kill -0 $(cat {BASE}/sibling) && echo alive > {BASE}/verdict-{number}; kill $(cat {BASE}/sibling); wait')
    with Group(LIMIT) as group:
        done = subprocess.run([PROGRAM, "guard", "--json", "--grace", "5s", "--", "sh", "-c", script], preexec_fn=group.enter,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, env=environment())
        kills = group.kills()
    said = done.stderr.decode()
    assert kills == 0, f"bomb {number}: the kernel killed {kills} times\n{said}"
    assert done.returncode == 11, f"bomb {number}: code {done.returncode}\n{said}"
    assert (BASE / f"verdict-{number}").exists(), f"bomb {number}: the sibling did not survive\n{said}"
    report = json.loads(done.stdout.decode().splitlines()[-1])
    assert report["stopped"] and report["level"] == "stop", report
    # When the line was crossed and when the bomb last moved before its first halt. The pause line lies at 270 MB, of
    # which the sibling, the shell and the guard hold the rest; the bomb's own megabytes are a lower bound for use.
    stamps = [t for (t,) in struct.iter_unpack("d", times.read_bytes()) if t > 0]
    halt = next((i for i in range(1, len(stamps)) if stamps[i] - stamps[i - 1] > 0.5), len(stamps))
    at_line = int((0.9 * LIMIT - 40e6) / 1e6)
    reaction = max(0.0, stamps[halt - 1] - stamps[at_line - 1]) if halt > at_line else 0.0
    return reaction, halt, report


def main():
    count = 50 if LONG else 5
    reactions, peaks, allocations, halts = [], [], [], []
    for number in range(count):
        reaction, halt, report = one(number, stubborn=number % 5 == 4)
        reactions.append(reaction)
        halts.append(halt)
        peaks.append(report["guard"]["peak_bytes"])
        allocations.append(report["guard"]["allocations"])
        assert report["guard"]["peak_bytes"] <= 16_000_000, report["guard"]
        assert not report["guard"]["allocations"], report["guard"]
    assert not LONG or max(reactions) <= REACTION, f"slowest reaction {max(reactions):.3f} s"
    print(f"{count} bombs: 0 kernel kills, {count} siblings unharmed, slowest reaction {1e3 * max(reactions):.1f} ms, "
          f"held up after {min(halts)} to {max(halts)} MB, guard {max(peaks) / 1e6:.1f} MB at most, {max(a or 0 for a in allocations)} allocations")


needs_plain_memory("the guard must hold less than 16 MB")
main()
