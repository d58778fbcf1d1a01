"""A second run, alone, of the few tests that failed beside others: CI names those that pass now, and goes on.

Use as `pytest -p unstable --last-failed --last-failed-no-failures none`, after a run that failed.  A fault of the product fails
again.  What passes depends on the load of the machine or on other tests, which is a fault of the test, to be fixed; it does not
tell whether the change is right.  More than a few failures are never of that kind, so that they end the run.
"""

from __future__ import annotations

import pytest

MAX_TESTS = 3  # tests: in the runs that were held up by such tests, there was one


class SecondRun:
    """Refuses too many tests, and files that could not be collected; names the tests that pass."""

    def __init__(self) -> None:
        self.passed: list[str] = []

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        cache = session.config.cache
        failed = cache.get("cache/lastfailed", {}) if cache is not None else {}
        if files := [name for name in failed if "::" not in name]:
            pytest.exit(f"tests could not be collected: {', '.join(files)}", 1)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if len(session.items) > MAX_TESTS:
            pytest.exit(f"{len(session.items)} tests failed: more than {MAX_TESTS} are not run again", 1)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.passed.append(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for name in self.passed:
            terminalreporter.write_line(f"unstable: {name} failed beside others and passes alone")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SecondRun(), "second-run")
