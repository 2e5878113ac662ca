#!/usr/bin/env python3
"""The page of a report in a real browser: it shows the data of the record; zoom, hover and keys work; hostile names remain
text."""
import json
import math
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import browser
from harness import LONG, PROGRAM, environment, skip

if not browser.find():
    skip("no chromium; install it (apt-get install chromium) to test the report's page")
SPECIMENS = Path(os.environ.get("PLIMSOLL_SPECIMENS", Path(PROGRAM).parent / "specimens"))
KEEP = os.environ.get("PLIMSOLL_SCREENSHOTS")  # a folder to leave pictures in; REPORT_ITERATIONS and REPORT_SECONDS make longer runs


def plimsoll(*arguments, cwd, env=None):
    done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=cwd, env=environment(env), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stderr[-2000:]}"
    return done.stdout


def rows(database, question):
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        return connection.execute(question).fetchall()


# Charts by the element they live in; the page's own objects stay private.
GRAPH = "document.getElementById('{}').dygraph"


def number_of_points(page, chart):
    return page.evaluate(GRAPH.format(chart) + ".numRows()")


def box(page, chart):
    return page.evaluate(f"(e => {{ e.scrollIntoView({{block: 'center', behavior: 'instant'}}); const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; }})"
                         f"(document.getElementById('{chart}'))")


def window(page, chart):
    return page.evaluate(GRAPH.format(chart) + ".xAxisRange()")


def check_page(page, folder, database, charts):
    name = database.stem
    report = folder / f"{name}.html"
    plimsoll("report", database, "-o", report, cwd=folder)
    verdict = json.loads(plimsoll("verdict", database, "--json", cwd=folder))
    data = json.loads(plimsoll("report", database, "--format", "json", cwd=folder))
    page.open(report.as_uri())
    page.wait("document.documentElement.dataset.ready")
    assert page.evaluate("document.getElementById('sentence').textContent") == verdict["sentence"]
    assert data["verdict"] == verdict, "the report's verdict is not the one of `verdict --json`"

    # As many points as the data asks for: below the bound of a chart that is every sample of the record.
    samples = rows(database, "SELECT count(*), min(coalesce(pss, rss) + coalesce(swap, 0)), max(coalesce(pss, rss) + coalesce(swap, 0)) FROM memory")[0]
    assert samples[0] < 3600 and number_of_points(page, "memory-chart") == samples[0], (samples, number_of_points(page, "memory-chart"))
    drawn = page.evaluate("(g => Array.from({length: g.numRows()}, (_, i) => g.getValue(i, 1)))(" + GRAPH.format("memory-chart") + ")")
    assert (min(drawn), max(drawn)) == samples[1:], (min(drawn), max(drawn), samples)
    for chart, expected in charts(data).items():
        assert number_of_points(page, chart) == expected, f"{chart}: {number_of_points(page, chart)} points, expected {expected}"
    inked = page.evaluate("Array.from(document.querySelectorAll('.plot')).map(e => Array.from(e.querySelectorAll('canvas')).some(c => "
                          "c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v)))")
    assert inked and all(inked), f"charts without a drop of ink: {inked}"

    # Hover tells the exact value of the row under the pointer.
    x, y, w, h = box(page, "memory-chart")
    page.mouse("mouseMoved", x + w * 0.5, y + h * 0.5)
    said = page.wait("(t => /bytes/.test(t) && t)(document.querySelector('#memory .readout').textContent)")
    at = page.evaluate(GRAPH.format("memory-chart") + ".getSelection()")
    value = page.evaluate(GRAPH.format("memory-chart") + f".getValue({at}, 1)")
    assert f"{value:,.0f} bytes" in said, (said, value)

    # Dragging zooms this chart and the others with it; double-click shows all again.
    whole = window(page, "memory-chart")
    page.drag(x + w * 0.4, y + h * 0.5, x + w * 0.7, y + h * 0.5)
    zoomed = window(page, "memory-chart")
    assert whole[0] < zoomed[0] < zoomed[1] < whole[1], (whole, zoomed)
    others = [chart for chart in charts(data)]
    for chart in others:
        assert all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(window(page, chart), zoomed)), chart
    assert page.evaluate("!document.querySelector('#memory .tools button:last-child').hidden")
    for count in (1, 2):
        page.mouse("mousePressed", x + w * 0.5, y + h * 0.5, button="left", clickCount=count)
        page.mouse("mouseReleased", x + w * 0.5, y + h * 0.5, button="left", clickCount=count)
    assert all(math.isclose(a, b, abs_tol=1e-6) for a, b in zip(window(page, "memory-chart"), whole)), window(page, "memory-chart")

    # The same by keys.
    page.evaluate("document.getElementById('memory-chart').focus()")
    page.key("+", text="+")
    closer = window(page, "memory-chart")
    assert closer[1] - closer[0] < 0.6 * (whole[1] - whole[0]), closer
    page.key("ArrowRight")
    assert "bytes" in page.evaluate("document.querySelector('#memory .readout').textContent")
    page.key("Escape")
    assert window(page, "memory-chart")[1] >= whole[1] - 1e-6

    # Every chart can be reached and says what it shows.
    unnamed = page.evaluate("Array.from(document.querySelectorAll('.plot, canvas.plan, svg.flame')).filter(e => !(e.getAttribute('aria-label') || '').length).length")
    assert unnamed == 0
    page.theme("dark")
    page.theme("light")
    assert page.console == [], page.console
    if KEEP:
        page.mouse("mouseMoved", 1, 1)
        page.evaluate("document.activeElement.blur(), scrollTo(0, 0)")
        page.screenshot(Path(KEEP) / f"report-{name}.png")
    return data


def trained(page, folder):
    plimsoll("train", "--small", os.environ.get("REPORT_ITERATIONS", "300"), "--eval-every", "100", "--checkpoint-every", "150", "--out", "train", cwd=folder)
    (folder / "train" / "run.db").rename(folder / "train.db")
    steps = rows(folder / "train.db", "SELECT (SELECT count(*) FROM steps), (SELECT count(*) FROM evaluations), (SELECT count(*) FROM plan)")[0]
    data = check_page(page, folder, folder / "train.db", lambda data: {"loss-chart": steps[0] + steps[1], "tokens-chart": steps[0], "step-chart": steps[0]})
    assert len(data["plan"]["rows"]) == steps[2]
    # A rectangle of the plan tells its name and size.
    x, y, w, h = box(page, "plan-chart")
    page.mouse("mouseMoved", x + 200, y + h - 44)
    said = page.wait("(t => /lives from/.test(t) && t)(document.querySelector('#plan .readout').textContent)")
    assert any(row[0] in said for row in data["plan"]["rows"]), said
    page.drag(x + 150, y + h * 0.5, x + 350, y + h * 0.8)
    assert page.evaluate("!document.querySelector('#plan .tools button').hidden"), "the plan does not zoom"
    # What the measured memory is made of adds up, on the page as in its data.
    page.evaluate("Array.from(document.querySelectorAll('#plan details')).find(one => /made of/.test(one.textContent)).open = true")
    cells = page.wait("(t => t.length && t)(Array.from(document.querySelectorAll('#plan details[open] tbody tr'), row => Array.from(row.children, c => c.textContent)))")
    sizes = [int(re.sub(r"[^0-9]", "", re.search(r"\((.*) bytes\)", text).group(1)) if "bytes" in text else text.split()[0]) for _, text in cells]
    assert cells[-1][0] == "measured" and sum(sizes[:-1]) == sizes[-1] == sum(data["plan"]["measured"].values()), (cells, data["plan"]["measured"])


def leaking(page, folder):
    specimen = SPECIMENS / "leak_under_spikes"
    if not specimen.exists():
        return print("skipped: no specimens built; the watched run is not shown")
    plimsoll("watch", "--quiet", "--interval", "100ms", "--limit", "150MB", "--out", folder / "leak.db", "--", "./" + specimen.name, cwd=SPECIMENS, env={"SPECIMEN_SECONDS": os.environ.get("REPORT_SECONDS", "18")})
    data = check_page(page, folder, folder / "leak.db", lambda data: {"process-chart": len(data["processes"]["samples"]["rows"])})
    assert data["line"] == 150e6 and data["phases"]["rows"] and data["spikes"]["rows"]


def equals(page, folder):
    """Two of three workers leak alike: the page marks both, and names no single one."""
    database, report = folder / "pool.db", folder / "pool.html"
    plimsoll("watch", "--quiet", "--interval", "50ms", "--out", database, "--", sys.executable, "-c", "import time; time.sleep(0.5)", cwd=folder)
    with sqlite3.connect(database) as connection:
        for table in ("memory", "processes", "process_samples", "verdicts"):
            connection.execute(f"DELETE FROM {table}")
        connection.executemany("INSERT INTO processes (id, pid, start_time, parent, name, arguments, role, first_seen) VALUES (?, ?, 7, ?, 'python3', 'train', ?, 0)",
                               [(i, 1000 + i, 1 if i > 1 else None, "worker pool" if i > 1 else "main") for i in range(1, 5)])
        for second in range(300):
            level = {1: 90_000_000, 2: 50_000_000, 3: 50_000_000 + second * 400_000, 4: 50_000_000 + second * 400_000}
            connection.executemany("INSERT INTO process_samples (process, time, rss, pss, pss_interpolated, cpu) VALUES (?, ?, ?, ?, 0, ?)",
                                   [(i, second, size, size, 0.9 if i == 1 else 0.3) for i, size in level.items()])
            connection.execute("INSERT INTO memory (time, rss, pss, processes, pss_interpolated) VALUES (?, ?, ?, 4, 0)", (second, *[sum(level.values())] * 2))
    culprit = json.loads(plimsoll("report", database, "--format", "json", cwd=folder))["verdict"]["culprit"]
    assert culprit["members"] == 2 and culprit["pid"] in (1003, 1004), culprit
    plimsoll("report", database, "-o", report, cwd=folder)
    page.open(report.as_uri())
    page.wait("document.documentElement.dataset.ready")
    marked = page.evaluate("Array.from(document.querySelectorAll('#processes tbody tr')).filter(row => /grows/.test(row.textContent)).map(row => row.children[2].textContent)")
    assert sorted(marked) == ["1003", "1004"], marked
    figures = page.evaluate("document.querySelector('.figures-row').textContent")
    assert "2 processes" in figures and "pid" not in figures, figures


HOSTILE = "<svg/onload=alert(1)>\n# TYPE x"


def hostile(page, folder):
    """A record written by an enemy: every text is markup, every argument a secret."""
    secrets = [f"hunter{i:02}secret" for i in range(20)]
    arguments = " ".join([f"--token {s}" for s in secrets[:5]] + [f"API_KEY={s}" for s in secrets[5:10]] + [f"https://me:{s}@host/" for s in secrets[10:15]] +
                         [f"--password={s}" for s in secrets[15:]])
    database = folder / "hostile.db"
    plimsoll("watch", "--quiet", "--interval", "50ms", "--out", database, "--", sys.executable, "-c", "import time; time.sleep(2.5)", cwd=folder)
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE processes SET name = ?, arguments = ?, role = ?", (HOSTILE, arguments, HOSTILE))
        connection.execute("UPDATE run SET kind = ?, machine = ?", (HOSTILE, "</script><script>document.title='taken'</script>"))
        connection.execute("INSERT OR REPLACE INTO configuration VALUES ('command', ?)", (arguments + HOSTILE,))
        connection.execute("INSERT INTO events (time, kind, text) VALUES (1, ?, ?)", (HOSTILE, arguments))
        connection.execute("INSERT INTO plan (name, role, offset, bytes, first, last) VALUES (?, ?, 0, 1000, 0, 3)", (HOSTILE, HOSTILE))
        connection.execute("INSERT INTO sites (time, stack, bytes, bytes_per_second) VALUES (1, ?, 1000, 5)", ("main\n" + HOSTILE.replace("\n", " "),))
    report = folder / "hostile.html"
    plimsoll("report", database, "-o", report, cwd=folder)
    page.open(report.as_uri())
    page.wait("document.documentElement.dataset.ready")
    found = page.evaluate("[document.querySelectorAll('[onload]').length, document.scripts.length, document.title === 'taken', document.querySelectorAll('svg').length]")
    assert found == [0, 3, False, 2], found  # the mark in the header and the flame graph
    assert page.evaluate("document.getElementById('flame-chart').querySelectorAll('g').length") == 3
    assert page.evaluate("document.getElementById('processes').textContent").count("<svg/onload=alert(1)>\\n# TYPE x") >= 1
    assert page.console == [], page.console
    forms = {form: plimsoll("report", database, "--format", form, cwd=folder) for form in ("json", "md", "svg", "csv")}
    forms["terminal"] = plimsoll("report", database, cwd=folder)
    forms["html"] = report.read_text()
    for form, text in forms.items():
        assert not [s for s in secrets if s in text], f"a secret in {form}"
        assert "\n# TYPE" not in text and "\x1b" not in text, form
        if form not in ("terminal", "csv"):
            assert "<svg/onload" not in text, form


def compared(page, folder):
    if not (folder / "leak.db").exists():
        return
    plimsoll("report", "--compare", folder / "train.db", folder / "leak.db", "-o", folder / "both.html", cwd=folder)
    both = json.loads(plimsoll("report", "--compare", folder / "train.db", folder / "leak.db", "--format", "json", cwd=folder))
    page.open((folder / "both.html").as_uri())
    page.wait("document.documentElement.dataset.ready")
    assert page.evaluate("document.getElementById('sentence').textContent") == both["difference"]["sentence"]
    assert number_of_points(page, "memory-chart") == sum(len(run["memory"]["rows"]) for run in both["runs"])
    assert page.console == [], page.console
    if KEEP:
        page.screenshot(Path(KEEP) / "report-compare.png")


def a_day(page, folder):
    """86,400 samples of thirty processes. How long it takes is told, how large it is asserted."""
    database, report = folder / "day.db", folder / "day.html"
    plimsoll("watch", "--quiet", "--interval", "50ms", "--out", database, "--", sys.executable, "-c", "import time; time.sleep(0.5)", cwd=folder)
    random.seed(1)
    with sqlite3.connect(database) as connection:
        for table in ("memory", "processes", "process_samples", "verdicts", "events"):
            connection.execute(f"DELETE FROM {table}")
        connection.executemany("INSERT INTO processes (id, pid, start_time, parent, name, arguments, role, first_seen) VALUES (?, ?, 7, NULL, ?, ?, ?, 0)",
                               [(i, 1000 + i, f"worker{i}", f"python3 -m worker --index {i}", "main" if i == 1 else "worker pool") for i in range(1, 31)])
        # A process is written when it has moved: each in every tenth sample here, 260,000 rows.
        level = {i: 300_000_000 for i in range(1, 31)}
        for second in range(86_400):
            for i in range(1 + second % 10, 31, 10):
                level[i] = 300_000_000 + second * (400 if i == 4 else 0) + random.randrange(20_000_000)
                connection.execute("INSERT INTO process_samples (process, time, rss, pss, pss_interpolated) VALUES (?, ?, ?, ?, 0)", (i, second, level[i], level[i]))
            connection.execute("INSERT INTO memory (time, rss, pss, processes, pss_interpolated) VALUES (?, ?, ?, 30, 0)", (second, sum(level.values()), sum(level.values())))
    begin = time.monotonic()
    plimsoll("report", database, "-o", report, cwd=folder)
    took = time.monotonic() - begin
    page.open(report.as_uri())
    ready = page.wait("document.documentElement.dataset.ready")
    assert report.stat().st_size < 1_500_000, report.stat().st_size
    assert page.console == [], page.console
    begin = time.monotonic()
    x, y, w, h = box(page, "memory-chart")
    page.drag(x + w * 0.4, y + h * 0.5, x + w * 0.6, y + h * 0.5)
    window(page, "process-chart")
    print(f"a day of 30 processes: written in {took:.2f} s, {report.stat().st_size:,} bytes, shown after {ready} ms, zoomed in {1000 * (time.monotonic() - begin):.0f} ms")


with tempfile.TemporaryDirectory() as name, browser.Browser() as tab:
    for test in (trained, leaking, equals, hostile, compared, *([a_day] if LONG else [])):
        test(tab, Path(name))
        print("ok", test.__name__, flush=True)
