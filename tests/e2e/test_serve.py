"""`--serve` and `plimsoll serve` from outside: the responses, access control, and that the server ends with the run."""
import tempfile

from serving import *

TOKEN = "a-token-of-enough-letters"


def small(folder, *more, iterations=200_000):
    return Served(folder, "train", "--small", iterations, "--out", "run", "--serve", *more).begun()


def stop(served, expect=130):
    served.running.send(signal.SIGINT)
    ended = served.running.wait()
    assert ended.code == expect, ended
    until(lambda: gone(served.pid), 10, "the server did not end with its run")
    return ended


def test_everything_is_answered_while_training(folder):
    served = small(folder, "--json")
    status, page, headers = served.get("/")
    assert status == 200
    if "text/html" in headers["Content-Type"]:
        assert "<script src=" in page and "onload" not in page
        for part in ("/page.css", "/page.js", "/dygraph.js"):
            assert served.get(part)[0] == 200 and len(served.get(part)[1]) > 1000, part
    assert "default-src 'none'" in headers["Content-Security-Policy"] and "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert served.get("/healthz")[:2] == (200, "ok\n")
    run = json.loads(until(lambda: served.get("/api/run")[1]))
    assert run["format"] == "plimsoll-report" and run["run"]["kind"] == "train" and run["plan"]["rows"], run.keys()
    metrics = served.metrics()
    assert metrics["plimsoll_train_step"] > 0 and metrics["plimsoll_memory_bytes"] > 1e6 and metrics["plimsoll_plan_bytes"] > 1e6
    with urllib.request.urlopen(f"{ENTRY}{served.port}/events", timeout=30) as stream:
        first = []
        while len([line for line in first if line.startswith(b"data: ")]) < 4:
            first.append(stream.readline())
    messages = [json.loads(line[6:]) for line in first if line.startswith(b"data: ")]
    assert any("memory" in message for message in messages) and any("steps" in message for message in messages)
    served.warmed_up()
    result = stop(served).json()
    assert result["allocations_after_warmup"] in (0, None), result  # with readers, too


def test_who_may_ask(folder):
    served = small(folder)
    assert served.get("/metrics", host="evil.example")[0] == 403
    assert served.get("/metrics", host=f"localhost:{served.port}")[0] == 200
    assert served.get("/nothing")[0] == 404 and served.get("/../../etc/passwd")[0] == 404 and served.get("/run.db")[0] == 404
    answers = {b"POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n": b"405", b"GET /%2e%2e/run.db HTTP/1.1\r\nHost: localhost\r\n\r\n": b"404",
               b"GET /metrics HTTP/1.1\r\n\r\n": b"400", b"GET /" + b"a" * 4000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n": b"414",
               b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + b"a" * 9000 + b"\r\n\r\n": b"431"}
    for request, status in answers.items():
        answer = raw(served.port, request)
        assert answer.startswith(b"HTTP/1.1 " + status), (request[:60], answer[:60])
        assert b"Content-Security-Policy" in answer and b"nosniff" in answer
    head = raw(served.port, b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200") and head.endswith(b"\r\n\r\n")
    stop(served)


def test_other_addresses_need_the_token(folder):
    refused = run(folder, "train", "--small", 10, "--out", "run", "--serve", "0.0.0.0:0", expect=2)
    assert "--serve-token" in refused.err and refused.err.count("\n") == 1 and not (folder / "run").exists()
    served = Served(folder, "train", "--small", 200_000, "--out", "run", "--serve", "0.0.0.0:0", env={"PLIMSOLL_SERVE_TOKEN": TOKEN})
    until(lambda: served.get("/metrics?token=" + TOKEN)[0] == 200)
    for path in ("/", "/metrics", "/healthz", "/api/run", "/events", "/page.js"):
        assert served.get(path)[0] == 401, path
        assert served.get(path + "?token=" + TOKEN[:-1] + "x")[0] == 401, path
    assert served.get("/metrics", {"Authorization": "Bearer " + TOKEN})[0] == 200
    assert served.get("/metrics", {"Authorization": "Bearer x"})[0] == 401
    status, _, headers = served.get("/?token=" + TOKEN)
    assert status == 200
    if headers["Set-Cookie"]:
        assert "HttpOnly" in headers["Set-Cookie"] and "SameSite=Strict" in headers["Set-Cookie"]
        assert served.get("/api/run", {"Cookie": headers["Set-Cookie"].split(";")[0]})[0] == 200
    assert TOKEN not in served.running.text(0) + served.running.text(1)
    stop(served)


def test_wrong_addresses(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for address in (str(taken.getsockname()[1]), "example.org:80", "127.0.0.1:x", "127.0.0.1:70000"):
            for command in (["train", "--small", 10, "--out", "run", "--serve", address], ["watch", "--serve", address, "--", "true"]):
                refused = run(folder, *command, expect=2)
                assert refused.err.count("\n") == 1, refused
    assert not (folder / "run").exists()


def test_it_ends_with_a_run_that_is_killed(folder):
    served = small(folder)
    served.running.send(signal.SIGKILL)
    assert served.running.wait().code == -9
    until(lambda: gone(served.pid), 10, "the server outlived its run")


def test_a_watch_keeps_no_record_unless_asked(folder):
    served = Served(folder, "watch", "--interval", "50ms", "--serve", "--", "sleep", "60", env={"TMPDIR": str(folder)}).begun()
    assert [path for path in folder.iterdir() if path.name.startswith("plimsoll-live-")]
    metrics = served.metrics()
    assert metrics["plimsoll_tree_processes"] == 1 and metrics["plimsoll_tree_pss_bytes"] > 0
    until(lambda: [name for name in served.metrics() if name.startswith("plimsoll_process_pss_bytes") and 'name="sleep"' in name])
    assert json.loads(served.get("/api/run")[1])["run"]["kind"] == "watch"
    stop(served)
    assert not [path for path in folder.iterdir() if path.name.startswith("plimsoll-live-")]


def test_a_finished_run(folder):
    done = run(folder, "train", "--small", 300, "--out", "run", "--json").json()
    for target in ("run", "run/run.db"):
        served = Served(folder, "serve", target).begun()
        metrics = until(lambda: served.metrics().get("plimsoll_run_ended") and served.metrics())
        assert metrics["plimsoll_train_step"] == 300
        assert json.loads(served.get("/api/run")[1])["verdict"]["sentence"] == done["verdict"]["sentence"]
        with urllib.request.urlopen(f"{ENTRY}{served.port}/events", timeout=30) as stream:
            assert until(lambda: b'"end"' in stream.readline())
        stop(served, expect=0)
    refused = run(folder, "serve", "nothing.db", expect=2)
    assert refused.err.count("\n") == 1
    (folder / "text.db").write_text("no record")
    assert run(folder, "serve", "text.db", expect=2).err.count("\n") == 1


def test_a_run_that_begins_just_now_is_waited_for(folder):
    run(folder, "train", "--tiny", 20, "--out", "before")
    (folder / "begins").mkdir()
    (folder / "begins" / "run.db").touch()  # empty until its tables are there
    served = Running(folder, "serve", "begins")
    until(lambda: "http://" in served.text(0) + served.text(1))
    time.sleep(0.3)
    os.replace(folder / "before" / "run.db", folder / "begins" / "run.db")
    port = int(re.search(r"http://[^ ]*:(\d+)/", served.text(0) + served.text(1)).group(1))
    until(lambda: server_of(port) and urllib.request.urlopen(f"{ENTRY}{port}/metrics", timeout=30).status == 200)
    served.send(signal.SIGINT)
    served.wait()


def test_a_run_that_goes_on_elsewhere_is_followed(folder):
    training = Running(folder, "train", "--small", 200_000, "--out", "run")
    until(lambda: (folder / "run" / "run.db").exists())
    served = Served(folder, "serve", "run").begun()
    first = served.metrics()["plimsoll_train_step"]
    until(lambda: served.metrics()["plimsoll_train_step"] > first)
    assert served.metrics()["plimsoll_run_ended"] == 0
    training.send(signal.SIGINT)
    training.wait()
    until(lambda: served.metrics()["plimsoll_run_ended"] == 1)
    stop(served, expect=0)


run_tests(globals())
