"""`pytest --plimsoll` on tests that leak and tests that do not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest

from plimsoll import _counters

HERE = Path(__file__).resolve().parent


def run(name: str, *flags: str) -> str:
    pytest.importorskip("torch")
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE.parent),
        "OMP_NUM_THREADS": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [sys.executable, "-m", "pytest", "-p", "plimsoll.pytest_plugin", "-p", "no:cacheprovider", *flags]
    command += ["-q", "-rA", "--rootdir", str(HERE), str(HERE / name)]
    return subprocess.run(command, env=environment, capture_output=True, text=True).stdout


def outcomes(text: str, word: str) -> List[str]:
    return sorted(set(re.findall(rf"^{word} \S+::(\w+)", text, re.MULTILINE)))


def test_every_leak_is_found() -> None:
    text = run("leaks_torch.py", "--plimsoll")
    assert outcomes(text, "PASSED") == [], text
    assert len(outcomes(text, "FAILED")) == 16, text
    assert "the test leaks" in text and "tests that kept memory" in text


def test_nothing_clean_is_accused() -> None:
    text = run("clean_torch.py", "--plimsoll")
    assert outcomes(text, "FAILED") == [], text
    assert len(outcomes(text, "PASSED")) == 20, text


def test_without_the_option_the_mark_does_nothing() -> None:
    assert outcomes(run("leaks_torch.py"), "FAILED") == []


def series(*values: int) -> List[_counters.Reading]:
    return [_counters.Reading(v, 0, 0) for v in values]


def test_a_step_up_is_no_leak() -> None:
    assert _counters.judge(series(*[0] * 20, *[10**6] * 20), 1, 1) is None


def test_a_fill_that_ends_is_no_leak() -> None:
    assert _counters.judge(series(*range(0, 200_000, 10_000), *[200_000] * 20), 1, 1) is None


def test_a_steady_rise_is_a_leak() -> None:
    leak = _counters.judge(series(*range(0, 400_000, 10_000)), 1000, 1)
    assert leak is not None and "10,000 bytes" in leak.words


def test_a_rise_below_the_threshold_is_none() -> None:
    assert _counters.judge(series(*range(0, 4000, 100)), 1000, 1) is None


def test_blocks_count_too() -> None:
    readings = [_counters.Reading(0, i, 0) for i in range(40)]
    assert _counters.judge(readings, 1000, 0.9) is not None


def test_reading_keeps_nothing() -> None:
    """What the readings themselves leave behind would be counted as the test's."""
    readings = _counters.after_each_call(lambda: None, 20)
    assert len({r.blocks for r in readings[4:]}) == 1, readings


def test_blocks_are_counted_exactly() -> None:
    kept: List[object] = [None] * 20
    place = iter(range(20))

    def keep() -> None:
        kept[next(place)] = object()

    readings = _counters.after_each_call(keep, 20)
    assert [later.blocks - earlier.blocks for earlier, later in zip(readings[4:], readings[5:])] == [1] * 15
