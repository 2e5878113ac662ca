"""`plimsoll train` judges its own memory at the end and writes the verdict to run.db; judging run.db later gives the same
verdict."""
import sqlite3

from watching import *

FOLDER = tempfile.mkdtemp()


def test_training_ends_with_a_verdict():
    out = os.path.join(FOLDER, "run")
    done = subprocess.run([PLIMSOLL, "train", "--small", "600", "--json", "--out", out], capture_output=True, check=True)
    result = json.loads(done.stdout)
    own = result["verdict"]
    assert documented(own) and own["verdict"] == "no-leak", own
    assert own["samples"] == 600 and own["limit_bytes"] > 0 and own["rate_bytes_per_step"] is not None, own
    assert result["allocations_after_warmup"] in (0, None), result
    assert SANITIZED or result["rss_end_bytes"] - result["rss_after_warmup_bytes"] <= 1_000_000, result
    record = os.path.join(out, "run.db")
    written = sqlite3.connect(record).execute("SELECT json FROM verdicts").fetchall()
    assert [json.loads(text) for (text,) in written] == [own]
    later = subprocess.run([PLIMSOLL, "verdict", record, "--json", "--online"], capture_output=True, check=True)
    again = json.loads(later.stdout)
    # A short run has few rows in its record: it may say so, but not the opposite.
    assert documented(again) and again["verdict"] in ("no-leak", "undecided") and again["first_leak_seconds"] is None, again


def test_the_sentence_is_shown():
    done = subprocess.run([PLIMSOLL, "train", "--small", "60", "--out", os.path.join(FOLDER, "shown")], capture_output=True, check=True)
    assert any(line.startswith((b"No leak:", b"Undecided:", b"Leak:")) for line in done.stdout.split(b"\n")), done.stdout


run_all(globals())
