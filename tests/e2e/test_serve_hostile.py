"""Hostile clients and hostile names: stalled connections and malformed requests during a run, and a process whose name and
arguments try to break out of wherever they are shown."""
import ctypes
import random
import sqlite3

from serving import *

STALLED, MALFORMED = 200, 1000


def malformed(rng):
    """A request that is wrong in one of many ways."""
    good = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    kind = rng.randrange(8)
    if kind == 0:
        return rng.randbytes(rng.randrange(1, 3000)) + b"\r\n\r\n"
    if kind == 1:
        return b"GET /" + b"../" * rng.randrange(1, 500) + b"etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n"
    if kind == 2:
        return b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * rng.randrange(9000, 40000) + b"\r\n\r\n"
    if kind == 3:
        return b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n" + b"z" * 1000
    if kind == 4:
        return b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    if kind == 5:
        return b"GET " + b"/" * 5000 + b" HTTP/9.9\r\n\r\n"
    text = bytearray(good)
    if kind == 6:
        return bytes(text[:rng.randrange(1, len(text) - 4)]) + b"\n\r\n\r\n"
    for _ in range(rng.randrange(1, 6)):
        text[rng.randrange(len(text))] = rng.randrange(256)
    return bytes(text) + b"\r\n\r\n"


RUN = ("train", "--small", 1_000_000, "--seed", 7, "--json", "--checkpoint-every", 50, "--keep", 100_000, "--eval-every", 0, "--sample-every", 0)


def median_step(folder):
    base = sqlite3.connect(folder / "run.db")
    speeds = sorted(1 / row[0] for row in base.execute("SELECT iterations_per_second FROM steps WHERE iterations_per_second > 0"))
    return 1e3 * speeds[len(speeds) // 2]


def test_stalled_and_malformed_requests_leave_no_trace(folder):
    served = Served(folder, *RUN, "--out", "run", "--serve").begun()
    for _ in range(10):  # every path once, so that what is made once is there
        served.get("/api/run"), served.get("/"), served.get("/metrics")
    before = (descriptors(served.pid), resident(served.pid))
    stalled = []
    for i in range(STALLED):
        one = socket.create_connection(("127.0.0.1", served.port), timeout=10)
        one.send([b"", b"GET /metrics HTT", b"GET /api/run HTTP/1.1\r\nHost: localhost\r\n"][i % 3])
        stalled.append(one)
    rng = random.Random(5)
    answered = dropped = 0
    for _ in range(MALFORMED):
        answer = raw(served.port, malformed(rng))
        if answer:
            assert re.match(rb"HTTP/1.1 (200|4\d\d|505) ", answer), answer[:100]
            answered += 1
        else:
            dropped += 1
    assert answered > 0.9 * MALFORMED, (answered, dropped)
    assert served.get("/healthz")[0] == 200
    slow = socket.create_connection(("127.0.0.1", served.port), timeout=10)  # takes nothing of what it asked for
    slow.send(b"GET /api/run HTTP/1.1\r\nHost: localhost\r\n\r\n")
    # Each is answered or dropped in time, though none of them ever says anything more.
    closed = 0
    for one in stalled:
        one.settimeout(30)
        try:
            while one.recv(4096):
                pass
            closed += 1
        except ConnectionError:
            closed += 1
        one.close()
    assert closed == STALLED, closed
    slow.close()
    until(lambda: descriptors(served.pid) <= before[0], 30, "descriptors stay open")
    grown = resident(served.pid) - before[1]
    assert grown < 2e6 or SANITIZED, f"the server grew by {grown} bytes"
    served.warmed_up()
    until(lambda: checkpoints(folder / "run"))
    served.running.send(signal.SIGINT)
    result = served.running.wait().json()
    assert result["allocations_after_warmup"] in (0, None), result
    # A run that nobody bothers computes the same to the bit.
    step = max(step for step in checkpoints(folder / "run") if step % 50 == 0)
    quiet = Running(folder, *RUN, "--out", "quiet")
    until(lambda: step in checkpoints(folder / "quiet"), 600)
    quiet.send(signal.SIGINT)
    quiet.wait()
    same_checkpoint(folder / "quiet", folder / "run", step)
    return (f"{answered} answered, {dropped} dropped, {closed} stalled ones closed, server grew by {grown / 1e6:.1f} MB; the same at step {step}; "
            f"median step {median_step(folder / 'quiet'):.2f} ms without, {median_step(folder / 'run'):.2f} ms with")


NAME = "<svg/onload=alert(1)>\n# TYPE x"[:15]  # as much of it as the kernel keeps
SECRETS = [f"SECRET{i:02d}value" for i in range(20)]
ARGUMENTS = ["<svg/onload=alert(1)>\n# TYPE x", "--token", SECRETS[0], f"--api-key={SECRETS[1]}", f"API_KEY={SECRETS[2]}",
             f"https://user:{SECRETS[3]}@host/", "--password", SECRETS[4], f"--db-password={SECRETS[5]}", f"AWS_SECRET_ACCESS_KEY={SECRETS[6]}",
             f"postgres://me:{SECRETS[7]}@db/x", "-H", f"Authorization: Bearer {SECRETS[8]}", f"--auth-token={SECRETS[9]}", "--client-secret",
             SECRETS[10], f"https://h/?access_token={SECRETS[11]}&x=1", f"--hf-token={SECRETS[12]}", f"PASSWD={SECRETS[13]}", "--passphrase",
             SECRETS[14], f"--cookie={SECRETS[15]}", f"hf_{SECRETS[16]}abcdefgh", f"sk-{SECRETS[17]}abcdefgh", f"ghp_{SECRETS[18]}abcdefgh",
             f"--connection-string={SECRETS[19]}"]
PROGRAM_TEXT = f"""
import ctypes, time
ctypes.CDLL(None).prctl(15, {NAME.encode()!r}, 0, 0, 0)
print('phase <b>x</b>', flush=True)
kept = []
while True:
    kept.append(bytearray(b'x') * 300_000)
    time.sleep(0.02)
"""


def check(text, where, lines=False):
    for secret in SECRETS:
        assert secret not in text, f"{secret} in {where}"
    assert "\x1b" not in text.replace("\x1b[", "") or where == "terminal", where
    if lines:
        for line in text.splitlines():
            assert re.match(r"(# (HELP|TYPE) plimsoll_[a-z_]+ |plimsoll_[a-z_]+(\{[a-z]+=\"([^\"\\\n]|\\.)*\"(,[a-z]+=\"([^\"\\\n]|\\.)*\")*\})? \S+$)", line), (where, line)


def test_a_hostile_name_and_planted_secrets(folder):
    python = os.path.realpath(sys.executable)
    served = Served(folder, "watch", "--interval", "50ms", "--serve", "--out", "run.db", "--", python, "-c", PROGRAM_TEXT, *ARGUMENTS,
                    env={"PLANTED_IN_ENVIRONMENT": "ENVIRONMENTvalue"}).begun()
    shown = until(lambda: [name for name in served.metrics() if name.startswith("plimsoll_process_pss_bytes") and "svg" in name], why="the process is not shown")
    assert "\\\\n" not in shown[0] or "# TYPE" not in shown[0], shown
    metrics = served.get("/metrics")[1]
    check(metrics, "metrics", lines=True)
    body = served.get("/api/run")[1]
    run_shown = json.loads(body)
    check(body, "JSON")
    assert "<" not in body and "svg" in body
    assert any("svg" in process["name"] for process in run_shown["processes"]["list"])
    with urllib.request.urlopen(f"{ENTRY}{served.port}/events", timeout=30) as stream:
        text = "".join(stream.readline().decode() for _ in range(20))
    check(text, "events")
    assert "<" not in text and re.fullmatch(r"(retry: \d+\n|data: \{[^\n]*\}\n|:\n|\n)*", text), text[:500]
    page = served.get("/")[1]
    check(page, "page")
    assert "ENVIRONMENTvalue" not in metrics + body + text + page
    served.running.send(signal.SIGINT)
    ended = served.running.wait()
    check(ended.err, "terminal")
    for served_text in (ended.out, ended.err):
        assert "ENVIRONMENTvalue" not in served_text
    return f"{len(SECRETS)} secrets, none seen"


run_tests(globals())
