"""What stays of a profiled run: its record, what is made of it later, and its exports."""
import glob
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from profiling import LEAK, LEAKING_LINE, STEPS, profile, script
from watching import PLIMSOLL, run_all


def test_record_of_a_killed_program_has_its_sites():
    with tempfile.TemporaryDirectory() as folder:
        path, run = script(folder, LEAK), os.path.join(folder, "run.db")
        result = profile("--out", run, "--", sys.executable, path, "kill", STEPS)
        assert result.code == 137
        rows = sqlite3.connect(run).execute("SELECT stack, bytes, blocks FROM sites ORDER BY bytes DESC").fetchall()
        assert any(f"{path}:{LEAKING_LINE} handle" in stack for stack, _, _ in rows[:2]), rows[:2]
        report = subprocess.run([PLIMSOLL, "report", run, "--format", "md"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert report.returncode == 0 and b"Call sites" in report.stdout and b"train.py" in report.stdout, report
        for form in ("pprof", "collapsed", "speedscope"):
            out = os.path.join(folder, form)
            done = subprocess.run([PLIMSOLL, "profile", run, "--" + form, out], stderr=subprocess.PIPE)
            assert done.returncode == 0, done
            content = open(out, "rb").read()
            content = gzip.decompress(content) if form == "pprof" else content
            assert path.encode() in content and b"handle" in content, content[:500]
        check_speedscope(json.load(open(os.path.join(folder, "speedscope"), encoding="utf-8")))
        check_pprof(os.path.join(folder, "pprof"), path, sum(size for _, size, _ in rows))
        assert not glob.glob(os.path.join(folder, "plimsoll-heap-*")), os.listdir(folder)


def check_speedscope(file):
    """What speedscope's file-format-spec.ts demands of a file with sampled profiles."""
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json" and isinstance(file["name"], str), file.keys()
    frames = file["shared"]["frames"]
    for frame in frames:
        assert isinstance(frame["name"], str) and isinstance(frame.get("file", ""), str) and isinstance(frame.get("line", 1), int), frame
        assert set(frame) <= {"name", "file", "line", "col"}, frame
    assert 0 <= file["activeProfileIndex"] < len(file["profiles"])
    for profile_ in file["profiles"]:
        assert (profile_["type"], profile_["unit"]) == ("sampled", "bytes") and isinstance(profile_["name"], str)
        assert len(profile_["samples"]) == len(profile_["weights"]) > 0
        assert all(0 <= number < len(frames) for sample in profile_["samples"] for number in sample)
        assert profile_["startValue"] == 0 and profile_["endValue"] == sum(profile_["weights"])


def check_pprof(file, path, held):
    """The file as Go's reader sees it, where Go is installed."""
    if not shutil.which("go"):
        return
    def go(*options):
        done = subprocess.run(["go", "tool", "pprof", *options, file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=dict(os.environ, HOME=os.path.dirname(file)))
        assert done.returncode == 0, done.stderr
        return done.stdout
    raw = go("-raw")
    assert "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes[dflt]" in raw, raw[:300]
    assert re.search(rf"handle {re.escape(path)}:{LEAKING_LINE}\b", raw), raw[-2000:]
    for index, least in (("inuse_space", held), ("alloc_space", held)):
        total = re.search(r"of ([\d.]+)B total", go("-top", "-unit=B", "-nodecount=5", "-sample_index=" + index))
        assert float(total[1]) >= 0.999 * least, (index, total[0], held)


def test_exports_refuse_what_is_no_profile():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([PLIMSOLL, "profile", os.path.join(folder, "none.db"), "--pprof", os.path.join(folder, "out")],
                              stderr=subprocess.PIPE)
        assert done.returncode == 2 and done.stderr.count(b"\n") == 1, done
        assert os.listdir(folder) == [], os.listdir(folder)


def test_the_record_that_is_read_is_not_replaced():
    with tempfile.TemporaryDirectory() as folder:
        record, link = os.path.join(folder, "run.db"), os.path.join(folder, "link")
        assert profile("--out", record, "--", "sleep", "0.5").code == 0
        os.symlink("run.db", link)
        with open(record, "rb") as file:
            before = file.read()
        for command in (["report", record, "--format", "md", "-o", record], ["report", record, record, "--format", "md", "-o", link],
                        ["report", folder, "--format", "md", "-o", link], ["profile", record, "--pprof", record],
                        ["profile", record, "--collapsed", link], ["profile", record, "--speedscope", record]):
            done = subprocess.run([PLIMSOLL, *command], capture_output=True)
            assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and b"would replace" in done.stderr, (command, done)
        with open(record, "rb") as file:
            assert file.read() == before and os.path.islink(link)


def test_the_record_says_what_the_profile_said():
    """More and more is allocated and freed again, and glibc gives nothing back: the memory alone looks like a leak."""
    program = """
    import ctypes, os, time
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
    libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    libc.mallopt(-1, 2_000_000_000)  # never trim
    for i in range(250):
        blocks = [libc.malloc(100_000) for _ in range(i)]
        for block in blocks:
            libc.memset(block, 1, 100_000)
        for block in blocks:
            libc.free(block)
        time.sleep(0.04)
    os._exit(0)
    """
    with tempfile.TemporaryDirectory() as folder:
        record = os.path.join(folder, "run.db")
        said = profile("--out", record, "--", sys.executable, script(folder, program)).json
        assert said["answer"] == "retained" and said["verdict"] == "no-leak", said
        later = json.loads(subprocess.run([PLIMSOLL, "verdict", record, "--json", "--fail-on-leak"], capture_output=True, check=True).stdout)
        shown = json.loads(subprocess.run([PLIMSOLL, "report", record, "--format", "json"], stdout=subprocess.PIPE, check=True).stdout)["verdict"]
        for key in ("verdict", "sentence", "culprit", "next"):
            assert said[key] == later[key] == shown[key], (key, said[key], later[key], shown[key])


run_all(dict(globals()))
