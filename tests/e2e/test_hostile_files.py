#!/usr/bin/env python3
"""Files made to harm their reader: a record with an endless view, JSON nested a hundred thousand deep, texts that once took time
quadratic in their length, and a link planted where a report is about to be written."""
import json
import os
import sqlite3
import subprocess
import tempfile
from pathlib import Path

from harness import PROGRAM, environment


def plimsoll(*arguments, cwd):
    return subprocess.run([PROGRAM, *map(str, arguments)], cwd=cwd, env=environment(), capture_output=True, text=True, timeout=600)


def refused(done, words):
    assert done.returncode == 2, (done.returncode, done.stderr[-500:])
    assert words in done.stderr and len(done.stderr.strip().splitlines()) == 1, done.stderr[-500:]


def changed(record, to, *statements):
    """A copy of the record after these statements, without a log beside it."""
    source, target = sqlite3.connect(record), sqlite3.connect(to)
    source.backup(target)
    target.execute("PRAGMA journal_mode = DELETE")
    for statement, *values in statements:
        target.execute(statement, values)
    target.commit()
    source.close(), target.close()
    return to


def endless_view(folder, record):
    view = ("CREATE VIEW memory AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, i * 1.0 AS time, i AS step, 1 AS phase, "
            "1000 AS rss, 1000 AS pss, 0 AS private, 0 AS shared, 0 AS swap, 1 AS processes, 0 AS limit_bytes, 0 AS available, 0 AS gpu, 0.0 AS pressure, "
            "0 AS pss_interpolated FROM n")
    crafted = changed(record, folder / "view.db", ("DROP TABLE memory",), (view,))
    for command in (["report", crafted], ["verdict", crafted], ["report", crafted, "--format", "json"]):
        refused(plimsoll(*command, cwd=folder), "a view 'memory'")
    triggered = changed(record, folder / "trigger.db", ("CREATE TRIGGER t AFTER INSERT ON steps BEGIN DELETE FROM memory; END",))
    refused(plimsoll("report", triggered, cwd=folder), "a trigger 't'")


def deep_json(folder):
    for bracket in ("[", '{"a":'):
        deep = bracket * 100_000
        (folder / "deep.jsonl").write_text('{"id":' + deep + "}\n")
        refused(plimsoll("verdict", folder / "deep.jsonl", cwd=folder), "not a JSON object")
        done = plimsoll("verdict", "--batch", folder / "deep.jsonl", cwd=folder)
        assert done.returncode == 2 and "not a JSON object" in json.loads(done.stdout)["error"], done
    closed = "[" * 100_000 + "]" * 100_000
    (folder / "deep.jsonl").write_text('{"id":' + closed + ',"t":[1],"bytes":[1]}\n')
    assert plimsoll("verdict", "--batch", folder / "deep.jsonl", cwd=folder).returncode == 2
    dots = ".".join(["a"] * 100_000)
    for text in (f"layers = {closed}", f"{dots} = 1", f"[{dots}]", f'prompt = "..."\n{dots} = 1'):
        (folder / "deep.toml").write_text(text + "\n")
        refused(plimsoll("config", "--config", folder / "deep.toml", cwd=folder), f"deep.toml line {text.count(chr(10)) + 1}")
    # Dots in strings are no tables.
    (folder / "dots.toml").write_text('prompt = """' + "." * 1000 + '\n' + "." * 1000 + '"""\nlayers = 2 # ' + "." * 1000 + "\n")
    assert plimsoll("config", "--config", folder / "dots.toml", cwd=folder).returncode == 0


def long_texts(folder, record):
    for unit in ("://", "a://b", "--token ", "'"):
        text = (unit * 200_000)[:196_000]
        crafted = folder / "long.db"
        crafted.unlink(missing_ok=True)
        changed(record, crafted, ("UPDATE run SET machine = ?", text), ("INSERT OR REPLACE INTO configuration VALUES ('command', ?)", text),
                ("INSERT INTO events (time, kind, text) VALUES (0.1, ?, ?)", text, text), ("UPDATE phase_names SET name = name || ?", text),
                ("INSERT INTO processes (pid, start_time, name, arguments, role, first_seen) VALUES (3, 3, ?, ?, ?, 0)", text, text, text))
        assert len(plimsoll("report", crafted, "--format", "json", cwd=folder).stdout) < 1_000_000


def planted_link(folder, record):
    victim = folder / "victim"
    victim.write_text("precious")
    for name in (".out.md.tmp", "out.md"):
        os.symlink(victim, folder / name)
    done = plimsoll("report", record, "-o", "out.md", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert victim.read_text() == "precious" and not (folder / "out.md").is_symlink()
    assert record.stat().st_mode & 0o777 == 0o600, oct(record.stat().st_mode)


with tempfile.TemporaryDirectory(prefix="plimsoll-hostile-") as temporary:
    folder = Path(temporary)
    done = plimsoll("train", "--tiny", "30", "--out", folder / "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    record = folder / "run" / "run.db"
    endless_view(folder, record)
    deep_json(folder)
    long_texts(folder, record)
    planted_link(folder, record)
