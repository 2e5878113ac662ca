"""The process tree of a real service, scaled down: a wrapper, a server with spikes, and twenty workers that share its pages. A
slow leak in the server is attributed to the server, one in a worker to that worker; without a leak, no process is named."""
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor

from watching import *

TREE = os.path.join(SPECIMENS, "server_tree")


FOLDER = tempfile.TemporaryDirectory(prefix="plimsoll-")


def tree(name, *arguments):
    return watch("--json", "--quiet", "--interval", "100ms", "--out", f"{FOLDER.name}/{name}.db", "--", TREE, "--step-ms", "40", "--steps", "700",
                 *arguments, timeout=300)


def seen(name):
    """What was said, and the memory of the tree by time: a verdict that is rarely wrong can be judged again."""
    rows = sqlite3.connect(f"{FOLDER.name}/{name}.db").execute("SELECT round(time, 2), pss FROM memory")
    return f"{runs[name].json}\n{' '.join(f'{time},{held}' for time, held in rows)}"


with ThreadPoolExecutor() as pool:
    runs = {name: pool.submit(tree, name, *arguments) for name, arguments in
            {"leak": ["--leak", "100000"], "worker": ["--leak-worker", "100000"], "none": []}.items()}
    runs = {name: run.result() for name, run in runs.items()}


def test_the_leaking_server_is_named():
    found = runs["leak"].json
    assert found["verdict"] == "leak", seen("leak")
    assert found["culprit"]["name"] == "tree_server" and found["culprit"]["role"] == "main", found
    assert found["culprit"]["share"] > 0.8
    # 100,000 are kept a step. The rate is judged over time, so steps that come unevenly on a busy machine blur it.
    assert 65_000 < found["rate_bytes_per_step"] < 140_000, found
    text = runs["leak"].err.decode()
    assert "wrapper" in text and "worker pool: 20 x" in text and re.search(r"sharing 2[4-6]\b", text) and ", stable" in text, text


def test_the_leaking_worker_is_named():
    found = runs["worker"].json
    assert found["verdict"] == "leak", seen("worker")
    assert found["culprit"]["name"] == "tree_worker" and found["culprit"]["share"] > 0.6, found


def test_without_a_leak_there_is_none():
    found = runs["none"].json
    assert found["verdict"] == "no-leak", seen("none")
    assert found["culprit"] is None
    assert found["spikes"]["count"] >= 5, found


run_all(globals())
