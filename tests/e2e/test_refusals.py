"""Invalid runs are refused with one line that says what is wrong and what to do, exit code 2, and nothing written."""

import re
import stat

from harness import *


def refused(place, words, *arguments, env=None):
    before = listing(place.path)
    ended = run(place.path, *arguments, expect=None, env=env, timeout=60)
    told = f"plimsoll {' '.join(map(str, arguments))}: {ended}"
    assert ended.code == 2, told
    lines = ended.err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("plimsoll: ") and not ended.out, f"not one line: {told}"
    assert len(lines[0]) < 600, f"a long line: {told}"
    assert "unexpected: " not in lines[0], told
    assert re.search(words, lines[0]), f"{words!r} is not in it: {told}"
    after = listing(place.path)
    assert before == after, f"it wrote {sorted(before.items() ^ after.items())}: {told}"
    print("refused:", lines[0])


with Temporary() as place:
    at = place.path
    (at / "empty.txt").write_bytes(b"")
    (at / "latin.txt").write_bytes("naïve café ".encode("latin-1") * 500)
    (at / "short.txt").write_text("too short\n")
    (at / "long.txt").write_text("some words to learn from, again and again. " * 200)
    (at / "capitals.txt").write_text("CAPITALS ONLY. " * 200)
    (at / "zero.txt").write_bytes(b"\xff\xff\x00\x00" * 64)
    (at / "nothing").mkdir()
    (at / "file").write_text("not a folder")
    (at / "bad.toml").write_text("layers = [")
    (at / "unknown.toml").write_text("layer = 3\n")
    (at / "wrong.toml").write_text("layers = 'three'\n")
    train = ("train", "--tiny", 5)

    # What is no record is refused before it is served.
    refused(place, "run file", "serve", "file")

    # Flags.
    refused(place, "--layrs.*--layers", *train, "--layrs", 3)
    refused(place, "unknown command 'trian'", "trian")
    refused(place, "contradict", "train", "--tiny", "--small")
    refused(place, "contradict", "train", "--tiny", 5, "--iterations", 6)
    refused(place, "heads", "train", "--small", "--heads", 3)
    refused(place, "heads", "train", "--dim", 100, "--heads", 8)
    refused(place, "context", "train", "--tiny", "--positions", 8)
    refused(place, "threads", *train, "--threads", -1)
    refused(place, "threads", *train, "--threads", 100000)
    refused(place, "iterations", "train", "--tiny", "--iterations", 0)
    refused(place, "--tiny 0", "train", "--tiny", 0)
    refused(place, "--tiny lots", "train", "--tiny", "lots")
    refused(place, "lr", *train, "--lr", "nan")
    refused(place, "lr", *train, "--lr", "1e30")
    refused(place, "lr", *train, "--lr", "-1")
    refused(place, "dropout", *train, "--dropout", 1)
    refused(place, "gemm", *train, "--gemm", "mkl")
    refused(place, "batch", *train, "--batch", 1048576, "--context", 1048576)
    refused(place, "PLIMSOLL_LAYERS", *train, env={"PLIMSOLL_LAYERS": "none"})
    refused(place, "bad.toml", *train, "--config", "bad.toml")
    refused(place, "layer", *train, "--config", "unknown.toml")
    refused(place, "wrong.toml.*layers", *train, "--config", "wrong.toml")
    refused(place, "missing.toml", *train, "--config", "missing.toml")
    refused(place, "surplus", "train", "surplus")

    # Data.
    refused(place, "empty.txt is empty", *train, "--data", "empty.txt")
    refused(place, "not UTF-8 at byte 2", *train, "--data", "latin.txt")
    refused(place, "not UTF-8 at byte 0", *train, "--data", "zero.txt")
    refused(place, "--context", *train, "--data", "short.txt")
    refused(place, "--context", *train, "--data", "long.txt", "--context", 9000)
    refused(place, "missing.txt", *train, "--data", "missing.txt")
    refused(place, "no regular files", *train, "--data", "nothing")
    refused(place, "not a regular file", *train, "--data", "/dev/null")
    refused(place, "vocab", *train, "--data", "long.txt", "--vocab", 3)
    refused(place, "é|U\\+00E9", *train, "--prompt", "café")
    refused(place, "Z", *train, "--data", "long.txt", "--prompt", "Z")

    # Places that cannot be written.
    refused(place, "file/run|file", *train, "--out", "file/run")
    refused(place, "file", *train, "--out", "file")
    refused(place, "/proc/run", *train, "--out", "/proc/run")
    refused(place, "metrics", *train, "--out", "new", "--metrics", "missing/metrics.jsonl")
    refused(place, "metrics", *train, "--out", "new", "--metrics", "nothing")

    # Places that cannot be continued.
    refused(place, "missing", "train", "--resume", "missing")
    refused(place, "file", "train", "--resume", "file")
    refused(place, "nothing", "sample", "nothing")
    refused(place, "missing", "sample", "missing")
    refused(place, "missing", "eval", "missing")
    (at / "mine").mkdir()
    (at / "mine" / "letter.txt").write_text("dear")
    refused(place, "mine.*no run", "train", "--resume", "mine")

    # A run, and all that does not go with it.
    run(at, *train, "--out", "run", "--json")
    refused(place, "--resume run", *train, "--out", "run")
    refused(place, "layers is 1 in the checkpoint and 2 here", "train", "--resume", "run", "--layers", 2)
    refused(place, "preset", "train", "--small", "--resume", "run")
    refused(place, "seed", "train", "--resume", "run", "--seed", 9)
    refused(place, "not trained on|data is not|does not know", "train", "--resume", "run", "--data", "long.txt")
    refused(place, "é|U\\+00E9", "sample", "run", "--prompt", "é")
    refused(place, "length", "sample", "run", "--length", 0)
    refused(place, "temperature", "sample", "run", "--temperature", -1)
    refused(place, "top-p", "sample", "run", "--top-p", 0)
    refused(place, "top-k", "sample", "run", "--top-k", -1)
    refused(place, "threads", "sample", "run", "--threads", -1)
    refused(place, "threads", "eval", "run", "--threads", -1)
    refused(place, "gemm|mkl", "sample", "run", "--gemm", "mkl")
    refused(place, "does not know", "eval", "run", "--data", "capitals.txt")
    refused(place, "missing.txt", "eval", "run", "--data", "missing.txt")
    refused(place, "missing", "plan", "--tiny", "--svg", "missing/plan.svg")
    run(at, *train, "--out", "text", "--json", "--data", "long.txt")
    (at / "other.txt").write_text("other words, altogether. " * 200)
    refused(place, "data|character", "train", "--resume", "text", "--data", "other.txt")
    (at / "long.txt").rename(at / "moved.txt")
    refused(place, "long.txt", "train", "--resume", "text")
    run(at, "train", "--resume", "text", "--data", "moved.txt", "--iterations", 6, "--json")

    # A folder somebody else is writing to.
    busy = Running(at, "train", "--tiny", 1000000, "--out", "busy", "--json", "--checkpoint-every", 0)
    while not (at / "busy" / "run.db").exists():
        assert busy.alive(), busy.wait()
        time.sleep(0.01)
    busy.send(signal.SIGSTOP)
    refused(place, "in use|another process", "train", "--resume", "busy")
    busy.send(signal.SIGKILL)
    busy.wait()

    # Permissions, as far as they can be taken away here.
    if os.getuid() != 0:
        os.chmod(at / "moved.txt", 0)
        os.chmod(at / "nothing", stat.S_IRUSR | stat.S_IXUSR)
        ended = run(at, *train, "--data", "moved.txt", expect=2)
        assert "moved.txt" in ended.err
        ended = run(at, *train, "--out", "nothing/run", expect=2)
        os.chmod(at / "nothing", 0o700)
        assert not list((at / "nothing").iterdir())
    if sealed := place.mount("sealed", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs"):
        refused(place, "sealed.*[Rr]ead-only", *train, "--out", "sealed/run")
        refused(place, "sealed.*[Rr]ead-only", *train, "--out", "sealed")
    else:
        print("not root: no read-only file system was tried")
