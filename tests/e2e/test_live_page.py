"""The live page of a fast run: it follows the run, and its size and the server's stay bounded. Without a browser only the
server is tested. The long version takes three minutes and also compares the training speed with and without --serve in
alternating runs."""
import browser
from serving import *

needs_plain_memory("the server must stay below 120 MB")

SECONDS = 180 if LONG else 12
REDRAW = """new Promise(done => setTimeout(() => done(performance.memory ? performance.memory.usedJSHeapSize : 0), 0))"""


def heap(page):
    page.call("HeapProfiler.collectGarbage")
    return page.evaluate(REDRAW)


def flat(values, allowed):
    """The second half is no higher than the first by more than this share: caches and thinning fill at first."""
    half = len(values) // 2
    return max(values[half:]) <= max(values[:half]) * (1 + allowed)


def test_a_fast_watch_fills_the_page_and_then_it_stays(folder):
    """A hundred samples a second fill every table of the page within a minute; from then on nothing grows."""
    if not LONG:
        return "only in the long form"
    if not browser.find():
        return "no browser here"
    served = Served(folder, "watch", "--interval", "10ms", "--serve", "--", "sleep", "600").begun()
    heaps, residents = [], []
    with browser.Browser() as tab:
        tab.open(f"{ENTRY}{served.port}/")
        tab.wait("document.querySelector('.badge.live') !== null")
        for _ in range(18):
            time.sleep(SECONDS / 18)
            heaps.append(heap(tab))
            residents.append(resident(served.pid))
    served.running.send(signal.SIGINT)
    served.running.wait()
    said = f"page heap {[round(size / 1e6, 1) for size in heaps]} MB, server {[round(size / 1e6, 1) for size in residents]} MB"
    assert flat(heaps, 0.25) and flat(residents, 0.25), said
    return said


def test_page_and_server_stay_as_they_are(folder):
    served = Served(folder, "train", "--tiny", 100_000_000, "--log-every", 0, "--out", "run", "--json", "--serve").begun()
    tab = browser.Browser() if browser.find() and "text/html" in served.get("/")[2]["Content-Type"] else None
    readers = [urllib.request.urlopen(f"{ENTRY}{served.port}/events", timeout=60) for _ in range(2)]  # one of them never reads
    heaps, residents, nodes = [], [], []
    try:
        if tab:
            tab.open(f"{ENTRY}{served.port}/")
            tab.wait("document.documentElement.dataset.ready")
            tab.wait("document.querySelector('.badge.live') !== null")
            first = served.metrics()["plimsoll_train_step"]
        until_time = time.monotonic() + SECONDS
        while time.monotonic() < until_time:
            time.sleep(SECONDS / 24)
            served.get("/metrics")
            residents.append(resident(served.pid))
            if tab:
                heaps.append(heap(tab))
                nodes.append(tab.evaluate("document.querySelectorAll('*').length"))
        served.warmed_up()
        if tab:
            assert served.metrics()["plimsoll_train_step"] > first
            assert not tab.console, tab.console
            tab.wait("document.querySelector('.badge.live') !== null")  # still following
    finally:
        served.running.send(signal.SIGINT)
        result = served.running.wait().json()
        if tab:
            ended = tab.wait("document.querySelector('.badge.ended') !== null", 20)
            sentence = tab.evaluate("document.getElementById('verdict').textContent")
            tab.close()
    for reader in readers:
        reader.close()
    assert result["allocations_after_warmup"] in (0, None), result["allocations_after_warmup"]
    said = f"server {min(residents) / 1e6:.1f} to {max(residents) / 1e6:.1f} MB"
    if LONG:
        assert flat(residents, 0.15), residents
    else:
        assert max(residents) < 120e6, residents
    if tab:
        assert ended and result["verdict"]["sentence"].split(":")[0] in sentence, (sentence, result["verdict"]["sentence"])
        said += f", page heap {min(heaps) / 1e6:.1f} to {max(heaps) / 1e6:.1f} MB, {nodes[0]} to {nodes[-1]} nodes"
        assert max(nodes) < 3 * nodes[0] + 500, nodes
        assert max(heaps) < 12e6, heaps  # its tables have bounds; at ten rows a second they fill for seven minutes
    else:
        said += ", no browser here"
    return said


def test_speed_with_and_without(folder):
    if not LONG:
        return "only in the long form"
    ratios = []
    for round_number in range(5):
        speeds = {}
        for serve in ((), ("--serve",)) if round_number % 2 == 0 else (("--serve",), ()):
            one = Running(folder, "train", "--small", 2000, "--out", f"run-{round_number}-{len(serve)}", "--json", *serve)
            speeds[len(serve)] = one.wait().json()["ms_per_step"]
        ratios.append(speeds[1] / speeds[0])
    ratios.sort()
    return "median step with / without: " + ", ".join(f"{ratio:.3f}" for ratio in ratios) + f"; median {ratios[2]:.3f}"


run_tests(globals())
