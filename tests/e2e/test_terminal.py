"""The live view on a terminal: what it shows, that it survives resizing and narrow windows, and that the terminal is restored."""
from terminal import *

PYTHON = os.path.realpath(sys.executable)
GROWING = """
import sys, time
kept = []
for i in range(100000):
    kept.append(bytearray(b'x') * 400_000)
    if i % 20 == 0: print('line', i, flush=True)
    time.sleep(0.02)
"""


def check_sizes(one, seen):
    """Every size: the view is drawn anew within it, and nothing is ever written past the last column."""
    for columns, rows in ((40, 10), (120, 40), (80, 24)):
        one.read(0.3)
        before = one.screen.overflow
        one.resize(columns, rows)
        for row in range(rows):
            one.screen.lines[row] = ""
        one.until(lambda screen: screen.fitted and seen(screen))
        one.read(1)
        assert one.screen.overflow == before, f"{columns}x{rows}:\n{one.screen.text()}"
        assert one.screen.bottom < rows - 1, "the view has rows of its own"
    assert not one.screen.foreign, one.screen.foreign[:5]


def test_watching_a_program_that_grows(folder):
    one = OnTerminal(folder, "watch", "--interval", "100ms", "--", PYTHON, "-c", GROWING)
    one.until(lambda screen: "floor" in screen.text() and "verdict: " in screen.text() and "python" in screen.text())
    one.until(lambda screen: "/min" in screen.text() and "▁" in screen.text() and "█" in screen.text())
    one.until(lambda screen: re.search(r"line \d+", screen.text()))  # what the program prints stands above
    check_sizes(one, lambda screen: "floor" in screen.text() and "PID" in screen.text())
    one.type("\x03")
    code = one.end()
    assert code == 130 or code == 1, code
    assert one.screen.whole(), "the terminal was not given back"
    assert "verdict: " in one.screen.text()


def test_attached(folder):
    sleeper = subprocess.Popen([PYTHON, "-c", "import time; x = bytearray(30_000_000); time.sleep(60)"])
    one = OnTerminal(folder, "watch", "--interval", "100ms", "--pid", sleeper.pid, env={"NO_COLOR": "1"})
    one.until(lambda screen: str(sleeper.pid) in screen.text() and "steady" in screen.text())
    assert not re.search(r"\x1b\[3\d", one.all), "colours though NO_COLOR is set"
    one.type("\x03")
    assert one.end() == 0
    sleeper.kill(), sleeper.wait()
    assert one.screen.whole()


def test_control_characters_are_shown_not_sent(folder):
    code = r"import ctypes, time; ctypes.CDLL(None).prctl(15, b'a\x1b[2Jb\rc\nd', 0, 0, 0); time.sleep(60)"
    sleeper = subprocess.Popen([PYTHON, "-c", code])
    one = OnTerminal(folder, "watch", "--interval", "100ms", "--pid", sleeper.pid)
    one.until(lambda screen: r"a\x1b[2Jb\rc\nd" in screen.text())
    one.type("\x03")
    assert one.end() == 0
    sleeper.kill(), sleeper.wait()


def test_training(folder):
    # Evaluations and samples are lines of their own above the view, as long as they are.
    one = OnTerminal(folder, "train", "--small", "1000000", "--out", "run", "--eval-every", "0", "--sample-every", "0")
    one.until(lambda screen: "loss" in screen.text() and "it/s" in screen.text() and "floor flat" in screen.text())
    one.until(lambda screen: "▁" in screen.text())
    check_sizes(one, lambda screen: re.search(r"\d+/1000000", screen.text()) and "memory" in screen.text())
    one.until(lambda screen: re.search(r"\b([2-9]\d\d|\d{4,})/1000000", screen.text()))  # warmed up
    one.type("\x03")
    assert one.end() == 130
    assert one.screen.whole() and "Interrupted and saved" in one.screen.text()
    assert SANITIZED or " 0 allocations after warm-up" in " ".join(one.all.split())


def test_an_impatient_end_gives_the_terminal_back(folder):
    one = OnTerminal(folder, "train", "--medium", "1000000", "--out", "run")
    one.until(lambda screen: screen.bottom < screen.rows - 1)
    one.type("\x03\x03")
    one.type("\x03")
    assert one.end() in (130, -signal.SIGINT)
    assert one.screen.whole()


def test_piped_it_is_plain_lines(folder):
    done = run(folder, "train", "--small", 300, "--out", "run")
    assert "\x1b" not in done.out + done.err and "Iter   300/300" in done.out
    done = run(folder, "watch", "--interval", "50ms", "--for", "1s", "--", "sleep", "60")
    assert "\x1b" not in done.out + done.err


def main():
    import traceback
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        with Temporary() as temporary:
            try:
                test(temporary.path)
                print("ok  ", name, flush=True)
            except Exception:
                failed += 1
                print("FAIL", name, flush=True)
                traceback.print_exc(file=sys.stdout)
    sys.exit(1 if failed else 0)


main()
