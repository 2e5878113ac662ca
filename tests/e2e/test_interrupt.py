"""SIGINT and SIGTERM are answered wherever the run is: in an evaluation, the final validation, a sample, a step of many
micro-batches, while data is read. Each of these would go on for minutes; what was reached is saved, the code is 130."""

from harness import *

SLOW = ["--layers", 6, "--heads", 8, "--dim", 512, "--context", 256]  # a pass over 200,000 tokens takes minutes


def wait_for(running, what):
    until = time.monotonic() + 300
    while not what():
        assert running.alive(), running.wait()
        assert time.monotonic() < until, running.text()[-2000:]
        time.sleep(0.01)


def worked(seconds):
    """Once the run has used so much processor time: far beyond its first step, far from the end of what it is doing."""
    def ready(_, running):
        fields = Path(f"/proc/{running.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") > seconds
    return ready


def ends_by(number, place, name, arguments, ready, iterations):
    folder = place.path / name
    running = Running(place.path, "train", *arguments, "--out", folder, "--json", "--log-every", 1)
    wait_for(running, lambda: ready(folder, running))
    running.send(number)
    ended = running.wait(300)
    assert ended.code == 130, ended
    result = ended.json()
    assert result["end"] == "interrupted" and result["iterations"] in iterations, result
    assert checkpoints(folder)[-1:] == [result["iterations"]], (checkpoints(folder), result)
    print(f"{name}: left at {result['iterations']}")
    return ended


with Temporary() as place:
    quiet = ["--eval-every", 0, "--sample-every", 0]
    ended = ends_by(signal.SIGINT, place, "final", [*SLOW, *quiet, "--iterations", 1], lambda f, r: checkpoints(f) == [1], [1])
    assert ended.json()["val_tokens"] == 0, ended

    ended = ends_by(signal.SIGTERM, place, "evaluation", [*SLOW, "--iterations", 9, "--sample-every", 0, "--eval-every", 1, "--eval-batches", 5000],
                    worked(12), [1])
    assert "Eval" not in ended.err, ended

    ended = ends_by(signal.SIGINT, place, "sample", [*SLOW, "--iterations", 9, "--eval-every", 0, "--sample-every", 1, "--sample-length", 1000000],
                    worked(12), [1])
    assert "Sample at" not in ended.err, ended

    # A step of a thousand micro-batches: it is left, and computed again when the run goes on.
    ends_by(signal.SIGINT, place, "step", [*SLOW, *quiet, "--iterations", 9, "--batch", 1000, "--micro-batch", 1],
            worked(6), [0])

    text = place.path / "large.txt"
    with open(text, "wb") as file:
        file.truncate(3_000_000_000)  # takes seconds to read and no place on the disk
    running = Running(place.path, "train", "--tiny", "--data", text, "--out", place.path / "reading")
    wait_for(running, lambda: "Reading data:" in running.text(0))
    running.send(signal.SIGTERM)
    ended = running.wait(60)
    assert ended.code == 130 and ended.err == "plimsoll: interrupted; there was nothing to save\n", ended
    assert not (place.path / "reading").exists()
    print("reading: left")
