"""`pytest --plimsoll`: tests marked `no_leak` run repeatedly and fail when they keep memory.

    @pytest.mark.no_leak(calls=50)
    def test_step():
        train_one_step()

Marks: `calls` (50), `bytes_per_call` (1024) and `blocks_per_call` (0.9) from which on growth counts. A summary at the
end names the tests that kept the most memory.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Tuple

import pytest

from . import _counters

CALLS = 50
BYTES_PER_CALL = 1024
BLOCKS_PER_CALL = 0.9
_KEPT_WORTH_A_LINE = 100_000
_MOST_LINES = 10


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("plimsoll")
    group.addoption(
        "--plimsoll", action="store_true", help="run tests marked no_leak repeatedly and fail those that keep memory"
    )
    group.addoption(
        "--plimsoll-calls", type=int, default=CALLS, help=f"how often a test marked no_leak runs (default {CALLS})"
    )


def pytest_configure(config: Any) -> None:
    config.addinivalue_line(
        "markers",
        "no_leak(calls=50, bytes_per_call=1024, blocks_per_call=0.9): with --plimsoll, run the test repeatedly and fail "
        "it when every quarter of the calls keeps more memory than the one before",
    )
    if config.getoption("--plimsoll"):
        config.pluginmanager.register(LeakChecks(config.getoption("--plimsoll-calls")), "plimsoll-leak-checks")


class LeakChecks:
    """Registered with --plimsoll only: without it the plugin costs nothing."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.kept: Dict[str, int] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        before = _counters.read().malloc_bytes
        result = yield
        self.kept[item.nodeid] = _counters.read().malloc_bytes - before
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: Any) -> Any:
        mark = pyfuncitem.get_closest_marker("no_leak")
        if mark is None:
            return None
        calls = max(8, int(mark.kwargs.get("calls", self.calls)))
        names = pyfuncitem._fixtureinfo.argnames
        arguments = {name: pyfuncitem.funcargs[name] for name in names}
        readings = _counters.after_each_call(lambda: pyfuncitem.obj(**arguments), calls)
        leak = _counters.judge(
            readings,
            int(mark.kwargs.get("bytes_per_call", BYTES_PER_CALL)),
            float(mark.kwargs.get("blocks_per_call", BLOCKS_PER_CALL)),
        )
        if leak is not None:
            pytest.fail(f"the test leaks: {leak.words}, over {calls} calls", pytrace=False)
        return True

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        rows: List[Tuple[int, str]] = sorted(((kept, name) for name, kept in self.kept.items()), reverse=True)
        rows = [row for row in rows if row[0] >= _KEPT_WORTH_A_LINE][:_MOST_LINES]
        if rows:
            terminalreporter.section("tests that kept memory")
            for kept, name in rows:
                terminalreporter.write_line(f"{kept / 1e6:10.2f} MB  {name}")
