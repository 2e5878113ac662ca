"""Runs the program with --serve for tests: finds its address and its server process, and sends raw requests."""
import re
import socket
import urllib.error
import urllib.request

from harness import *

ENTRY = "http://127.0.0.1:"


def until(what, seconds=60, why="it did not happen"):
    """What `what()` gives once it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{why} within {seconds} s")


class Served:
    """A program with --serve at work; `port` is where."""

    def __init__(self, folder, *arguments, env=None):
        self.running = Running(folder, *arguments, env=env)
        self.port = int(until(self.find, why="no address was printed"))
        self.pid = until(lambda: server_of(self.port), why="nobody listens")

    def find(self):
        found = re.search(r"http://[^ ]*:(\d+)/", self.running.text(0) + self.running.text(1))
        return found and found.group(1)

    def get(self, path, headers=None, host=None):
        """Status, body and headers."""
        request = urllib.request.Request(f"{ENTRY}{self.port}{path}", headers={**(headers or {}), **({"Host": host} if host else {})})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode(), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), error.headers

    def begun(self):
        until(lambda: self.get("/metrics")[0] == 200, why="the run did not begin")
        return self

    def warmed_up(self):
        """Past the iterations after which allocations are counted."""
        until(lambda: self.metrics().get("plimsoll_train_step", 0) > 150, 300, "the run did not warm up")

    def metrics(self):
        status, text, _ = self.get("/metrics")
        assert status == 200, text
        return samples(text)


def samples(text):
    """Prometheus text as {name{labels}: value}."""
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line and not line.startswith("#")}


def raw(port, data, seconds=10):
    """What is answered to these bytes; empty where the connection is dropped."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as one:
        answer = b""
        try:
            one.sendall(data)
            while True:
                part = one.recv(65536)
                if not part:
                    break
                answer += part
        except (ConnectionError, TimeoutError):
            pass
        return answer


def server_of(port):
    """The process that listens on the port, by the kernel's tables."""
    with open("/proc/net/tcp") as table:
        inodes = {line.split()[9] for line in table.readlines()[1:] if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for descriptor in os.listdir(f"/proc/{pid}/fd"):
                if os.readlink(f"/proc/{pid}/fd/{descriptor}")[8:-1] in inodes:
                    return int(pid)
        except OSError:
            continue
    return None


def resident(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def gone(pid):
    return not os.path.exists(f"/proc/{pid}") or " Z " in Path(f"/proc/{pid}/stat").read_text()


def run_tests(namespace):
    """Every test_ function in its own folder; what fails is said, and decides the exit code."""
    import traceback
    failed = 0
    for name, test in list(namespace.items()):
        if not name.startswith("test_"):
            continue
        began = time.monotonic()
        with Temporary() as temporary:
            try:
                said = test(temporary.path)
                print(f"ok   {name} ({time.monotonic() - began:.1f} s) {said or ''}", flush=True)
            except Exception:
                failed += 1
                print(f"FAIL {name}", flush=True)
                traceback.print_exc(file=sys.stdout)
    sys.exit(1 if failed else 0)
