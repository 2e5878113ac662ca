"""What happens to the other ranks: one is killed within a step, an exchange or a save, one is stopped, a machine loses its
network, the disk of rank 0 is full. All others leave with a line that names it, the newest checkpoint is sound, and resuming
on another number of ranks gives the bytes of an undisturbed run. With --long: 30 such faults, and how long the others stayed.
"""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import machines
from harness import SANITIZED
from test_ranks import LAUNCHERS, PATIENCE, SKIPPED, environment, ranks_of, tensors

LONG = "--long" in sys.argv
PROGRAM = os.path.abspath(sys.argv[1])
INJECTOR = pathlib.Path(PROGRAM).parent / "faults" / "fault_injector.so"
STEPS = 24
RUN = ("--tiny --batch 6 --accumulate 2 --micro-batch 2 --leaves 5 --dropout 0.1 --clip 0.5 --threads 1 --sample-every 0 "
       f"--log-every 0 --eval-every 0 --checkpoint-every 4 --keep 9 --iterations {STEPS}").split()
# Launchers end all ranks when one of them dies; Open MPI's can be told not to, so that the others have to notice by themselves.
CARELESS = {"openmpi": ["--mca", "orte_enable_recovery", "1"], "mpich": []}
LONGEST_STAY = 10  # seconds, of the long form


def variables(mpi, values):
    words = []
    for name, value in values.items():
        words += ["-x", f"{name}={value}"] if mpi == "openmpi" else ["-genv", name, value]
    return words


def state(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return "gone"


def seconds_until_alone(pids, victim):
    """From the fault to the end of the last other rank."""
    until = time.monotonic() + PATIENCE
    struck = None
    while time.monotonic() < until:
        if struck is None and state(pids[victim]) in ("gone", "Z", "T", "X"):
            struck = time.monotonic()
        if all(state(pid) in ("gone", "Z", "X") for rank, pid in pids.items() if rank != victim):
            return 0 if struck is None else time.monotonic() - struck
        time.sleep(0.02)
    raise AssertionError(f"the other ranks stay: {[state(pid) for pid in pids.values()]}")


def end(run, pids):
    """Whatever is left of a launcher and its ranks; returns what they said."""
    for pid in pids.values():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    run.terminate()
    return run.communicate(timeout=PATIENCE)[1]


def suffer(mpi, out, victim, fault=None, strike=None, ranks=3):
    """A run of which one rank is struck: by the injector, or by strike(pid of the victim)."""
    values = {"PLIMSOLL_FAULT": fault, "PLIMSOLL_FAULT_RANK": str(victim), "PLIMSOLL_FAULT_UNDER": str(out),
              "LD_PRELOAD": str(INJECTOR)} if fault else {}
    # A strike from outside needs a run that does not end before it.
    command = [LAUNCHERS[mpi][0], *CARELESS[mpi], *LAUNCHERS[mpi][1:], *variables(mpi, values), "-n", str(ranks), PROGRAM, "train",
               *RUN[:-1], "1000000" if strike else str(STEPS), "--out", str(out)]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment())
    pids = {}
    try:
        pids = ranks_of(mpi, out, ranks, saved=strike is not None)
        if strike:
            strike(pids[victim])
        stayed = seconds_until_alone(pids, victim)
    finally:
        errors = end(run, pids)
    assert not fault or "always" in fault or not (out / f"step-{STEPS:06}").exists(), f"{fault} did not strike"
    return stayed, errors


def suffer_once_saved(mpi, out, victim, fault):
    """A checkpoint is written beside the steps: where the machine is busy, the first may not be complete when the fault strikes."""
    for _ in range(3):
        shutil.rmtree(out, ignore_errors=True)
        stayed, errors = suffer(mpi, out, victim, fault)
        if list(out.glob("step-*")):
            break
    return stayed, errors


def check_after(out, work, undisturbed, victim, errors, named=True):
    # A rank that is lost is named by the others; one that cannot write says why itself, and the others that it does.
    told = f"rank {victim} on " in errors or f"rank {victim} says why" in errors
    assert told or not named, f"nobody names rank {victim}: {errors}"
    newest = max(out.glob("step-*"), default=None)
    assert newest, f"no checkpoint after rank {victim} was struck: {sorted(os.listdir(out))}, {errors}"
    sound = subprocess.run([PROGRAM, "eval", str(newest)], capture_output=True, text=True, timeout=PATIENCE)
    assert sound.returncode == 0, sound.stderr
    if undisturbed is None:
        return
    again = work / "again"
    shutil.rmtree(again, ignore_errors=True)
    resumed = subprocess.run([PROGRAM, "train", "--resume", str(newest), "--out", str(again), "--iterations", str(STEPS)],
                             capture_output=True, text=True, timeout=PATIENCE)
    assert resumed.returncode == 0, resumed.stderr
    assert tensors(again, STEPS) == undisturbed, "the resumed run has other bytes"


def cut_off(work, undisturbed):
    """A machine whose network is gone: two of them, a rank each."""
    out = work / "cut"
    shutil.rmtree(out, ignore_errors=True)
    with machines.Machines(2) as two, open(work / "said", "w+") as said:
        run = subprocess.Popen(two.mpirun(1, PROGRAM, "train", *RUN[:-1], "1000000", "--out", str(out)), stdout=subprocess.DEVNULL,
                               stderr=said, text=True, env=environment())
        pids = {}
        try:
            pids = ranks_of("openmpi", out, 2)
            two.disconnect(1)
            began = time.monotonic()
            while any(state(pid) not in ("gone", "Z", "X") for pid in pids.values()):
                assert time.monotonic() < began + PATIENCE, "the ranks stay"
                time.sleep(0.02)
            stayed = time.monotonic() - began
        finally:
            # The launcher waits for its half beyond the cut, and that half for the launcher.
            two.end_launchers()
            run.kill()
            run.wait()
        said.seek(0)
        errors = said.read()
    check_after(out, work, None, 1, errors)
    return stayed


def disk_full(mpi, work, undisturbed, chance):
    """Rank 0 cannot write any more. What it has written is copied to where there is room."""
    out = work / "full"
    shutil.rmtree(out, ignore_errors=True)
    stayed, errors = suffer_once_saved(mpi, out, 0, f"files {chance.randint(200, 500)} always")
    check_after(out, work, undisturbed, 0, errors)
    return stayed


def strike_later(chance, how):
    def strike(pid):
        time.sleep(chance.random() / 3)
        os.kill(pid, how)
    return strike


def main():
    here = [mpi for mpi in LAUNCHERS
            if shutil.which(f"mpirun.{mpi}") and os.path.exists(os.path.join(os.path.dirname(PROGRAM), f"libplimsoll_{mpi}.so"))]
    if not here or not INJECTOR.exists():
        print("skipped: no MPI is installed (openmpi-bin, mpich), or the injector is not built")
        return SKIPPED
    chance = random.Random(7)
    stays = {}
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        subprocess.run([PROGRAM, "train", *RUN, "--out", str(work / "one")], capture_output=True, check=True, timeout=PATIENCE)
        undisturbed = tensors(work / "one", STEPS)
        # A sanitizer must come first among the libraries, and so must the injector.
        plan = [("step" if SANITIZED else "exchange", here[0], 1)] if not LONG else [
            (kind, mpi, count) for mpi in here
            for kind, count in (("step", 3), ("exchange", 4), ("save", 3), ("stopped", 2), ("full", 2))]
        for kind, mpi, count in plan:
            for _ in range(count):
                out = work / kind
                shutil.rmtree(out, ignore_errors=True)
                victim = chance.choice((0, 1, 2)) if kind != "save" else 0
                if kind == "full":
                    stayed = disk_full(mpi, work, undisturbed, chance)
                else:
                    if kind == "step":
                        stayed, errors = suffer(mpi, out, victim, strike=strike_later(chance, signal.SIGKILL))
                    elif kind == "exchange":
                        stayed, errors = suffer_once_saved(mpi, out, victim, f"messages {chance.randint(220, 480)} kill")
                    elif kind == "save":
                        stayed, errors = suffer_once_saved(mpi, out, victim, f"files {chance.randint(200, 500)} kill")
                    else:
                        stayed, errors = suffer_once_saved(mpi, out, victim, f"messages {chance.randint(220, 480)} stop")
                    check_after(out, work, None if kind == "step" else undisturbed, victim, errors,
                                named=mpi == "openmpi" or kind == "stopped")
                stays.setdefault(kind, []).append(stayed)
        if LONG and machines.possible():
            stays["network"] = [cut_off(work, undisturbed) for _ in range(2)]
    for kind, seconds in stays.items():
        print(f"{kind}: {len(seconds)} faults, the others stayed {max(seconds):.1f} s at most")
    if LONG:
        assert max(max(seconds) for seconds in stays.values()) <= LONGEST_STAY
    return 0


if __name__ == "__main__":
    sys.exit(main())
