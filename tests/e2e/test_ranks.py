"""Training on several ranks, by each MPI that is installed: the bytes of a checkpoint do not depend on the number of
ranks, a checkpoint of some resumes on others, SIGTERM saves once, and a rank that dies or hangs ends the others by name.
With --long, also those of small, nano and a run with distrust.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
PATIENCE = 240  # seconds until a run counts as hung; nothing is measured
RUN = ("--tiny --batch 6 --accumulate 2 --micro-batch 2 --leaves 5 --dropout 0.1 --clip 0.5 --threads 1 --sample-every 0 "
       "--log-every 0 --eval-every 8 --checkpoint-every 8 --keep 9 --iterations 16").split()
COMMON = ("--dropout 0.1 --clip 0.5 --accumulate 2 --leaves 5 --threads 1 --sample-every 0 --log-every 0 --eval-every 0 "
          "--checkpoint-every 0").split()
LARGER = {  # of the long form
    "small": "--small --batch 6 --micro-batch 2 --iterations 6".split(),
    "nano": "--nano --batch 6 --micro-batch 2 --iterations 20".split(),
    "distrust": "--tiny --batch 6 --micro-batch 2 --iterations 20 --distrust-lambda 0.5".split(),
}
LAUNCHERS = {
    "openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"],
    "mpich": ["mpirun.mpich"],
}
RANK = {"openmpi": b"OMPI_COMM_WORLD_RANK", "mpich": b"PMI_RANK"}


def environment():
    # For sanitizers: MPI libraries leak what they keep until the end, and take their own locks in more than one order.
    return os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                         "ASAN_OPTIONS": "detect_leaks=0:intercept_tls_get_addr=0", "TSAN_OPTIONS": "detect_deadlocks=0"}


def command(mpi, ranks, program, arguments):
    start = [] if ranks == 1 else [*LAUNCHERS[mpi], "-n", str(ranks)]
    return [*start, program, "train", *arguments]


def train(mpi, ranks, program, arguments, **variables):
    done = subprocess.run(command(mpi, ranks, program, arguments), capture_output=True, text=True, timeout=PATIENCE,
                          env=environment() | variables)
    assert done.returncode == 0, (mpi, ranks, done.returncode, done.stdout, done.stderr)
    return done


def tensors(folder, step=16):
    checkpoint = folder / f"step-{step:06}"
    return [(checkpoint / name).read_bytes() for name in ("model.safetensors", "optimizer.safetensors")]


def check_bits(program, mpi, work, one):
    for ranks in (2, 3, 4):
        out = work / f"{mpi}-{ranks}"
        done = train(mpi, ranks, program, [*RUN, "--out", str(out)])
        assert tensors(out) == one, f"{mpi}: {ranks} ranks give other bytes than one"
        assert f"Ranks: {ranks}" in done.stdout and "copied in memory" in done.stdout, done.stdout
    # As between machines: every message by MPI.
    out = work / f"{mpi}-far"
    done = train(mpi, 3, program, [*RUN, "--out", str(out)], PLIMSOLL_NEAR="off")
    assert tensors(out) == one, f"{mpi}: messages by MPI give other bytes"
    assert "copied in memory" not in done.stdout, done.stdout


def check_resume(program, mpi, work, one):
    """4 ranks, then 2, then 3."""
    two, three = work / f"{mpi}-then-2", work / f"{mpi}-then-3"
    train(mpi, 2, program, ["--resume", str(work / f"{mpi}-4" / "step-000008"), "--out", str(two), "--checkpoint-every", "4"])
    assert tensors(two) == one, "resuming a checkpoint of 4 ranks on 2 gives other bytes"
    train(mpi, 3, program, ["--resume", str(two / "step-000012"), "--out", str(three)])
    assert tensors(three) == one, "resuming a checkpoint of 2 ranks on 3 gives other bytes"


def check_larger(program, here, work):
    lines = [{"text": f"{word} of the record number {i}, as it was found in the archive", "auth_weight": i % 10 / 10, "prov_entropy": i % 7}
             for i in range(400) for word in ("copy", "letter")]
    (work / "samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name, model in LARGER.items():
        run = [*model, *COMMON, *(["--data", str(work / "samples.jsonl")] if name == "distrust" else [])]
        steps = int(model[model.index("--iterations") + 1])
        train("", 1, program, [*run, "--out", str(work / f"{name}-1")])
        for mpi in here:
            for ranks in (2, 3, 4):
                out = work / f"{name}-{mpi}-{ranks}"
                train(mpi, ranks, program, [*run, "--out", str(out)])
                assert tensors(out, steps) == tensors(work / f"{name}-1", steps), f"{name}, {mpi}: {ranks} ranks give other bytes"
        print(f"{name}: 1, 2, 3 and 4 ranks of {' and '.join(here)} give the same bytes", flush=True)


def ranks_of(mpi, out, count, saved=True):
    """{rank: pid} of the run that writes to `out`, once all have begun and, with `saved`, a checkpoint is there."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
                if str(out).encode() not in words or b"mpirun" in words[0] or b"hydra" in words[0]:
                    continue
                variables = dict(each.split(b"=", 1) for each in (process / "environ").read_bytes().split(b"\0") if b"=" in each)
                found[int(variables[RANK[mpi]])] = int(process.name)
            except (OSError, KeyError):
                continue
        if len(found) == count and (not saved or list(out.glob("step-*"))):
            return found
        time.sleep(0.02)
    raise AssertionError("the run did not begin")


def check_loss(program, mpi, work, how):
    """The launcher does not notice a rank that is stopped, and can be told not to mind one that dies; the others must."""
    out = work / f"{mpi}-{how}"
    careless = ["--mca", "orte_enable_recovery", "1"] if how == "dies" else []
    endless = [*RUN[:-1], "1000000", "--out", str(out)]
    start, *rest = command(mpi, 3, program, endless)
    run = subprocess.Popen([start, *careless, *rest], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env=environment())
    victim = None
    try:
        pids = ranks_of(mpi, out, 3)
        victim = pids[1]
        os.kill(victim, signal.SIGKILL if how == "dies" else signal.SIGSTOP)
        until = time.monotonic() + PATIENCE
        while any(pathlib.Path(f"/proc/{pids[rank]}/exe").exists() for rank in (0, 2)):
            assert time.monotonic() < until, "the other ranks stay"
            time.sleep(0.1)
    finally:
        if victim:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
        run.terminate()
        _, errors = run.communicate(timeout=PATIENCE)
    assert "rank 1 on " in errors and f"--resume {out}" in errors, errors
    newest = max(out.glob("step-*"))
    sound = subprocess.run([program, "eval", str(newest)], capture_output=True, text=True, timeout=PATIENCE)
    assert sound.returncode == 0, sound.stderr


def check_refusal(program):
    """Without a module for the launcher's MPI there is one line."""
    done = subprocess.run([program, "train", *RUN], capture_output=True, text=True, timeout=PATIENCE,
                          env=environment() | {"PMI_RANK": "0", "PMI_SIZE": "2", "PLIMSOLL_MPI": "nothing"})
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "libmpich-dev" in done.stderr, done


def main():
    program = os.path.abspath(sys.argv[1])
    check_refusal(program)
    here = [mpi for mpi in LAUNCHERS
            if shutil.which(f"mpirun.{mpi}") and os.path.exists(os.path.join(os.path.dirname(program), f"libplimsoll_{mpi}.so"))]
    if not here:
        print("skipped: neither Open MPI nor MPICH is installed (openmpi-bin, mpich)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        train("", 1, program, [*RUN, "--out", str(work / "one")])
        one = tensors(work / "one")
        for mpi in here:
            check_bits(program, mpi, work, one)
            check_resume(program, mpi, work, one)
            check_loss(program, mpi, work, "hangs")
        if "openmpi" in here:  # MPICH always ends the others itself
            check_loss(program, "openmpi", work, "dies")
        if "--long" in sys.argv:
            check_larger(program, here, work)
    print("ranks:", ", ".join(here))
    return 0


if __name__ == "__main__":
    sys.exit(main())
