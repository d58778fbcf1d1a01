"""Progress of a long run of tests: a line a minute in place of a dot for each test, and failures as they come."""

from __future__ import annotations

import time

import pytest
from _pytest.terminal import TerminalReporter

INTERVAL = 60.0  # seconds between lines


class ProgressLines:
    """Counts the tests that have ended; for `pytest -p progress`, with or without workers."""

    def __init__(self, reporter: TerminalReporter) -> None:
        self.reporter = reporter
        self.started = self.written = time.monotonic()
        self.ended = self.failed = self.total = 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.total = len(session.items)

    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """The total with workers, which collect."""
        self.total = len(ids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """No letter for a test that passed or was skipped."""
        if report.failed or hasattr(report, "wasxfail"):
            return None
        if report.skipped:
            return "skipped", "", "SKIPPED"
        return ("passed" if report.when == "call" else ""), "", "PASSED"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed += 1
            self.reporter.write_line(f"failed: {report.nodeid}")
        self.ended += report.when == "teardown"
        now = time.monotonic()
        if now - self.written >= INTERVAL:
            self.written = now
            of = f" of {self.total:,}" if self.total else ""
            minutes = round((now - self.started) / 60)
            self.reporter.write_line(f"{minutes} min: {self.ended:,}{of} tests, {self.failed} failed")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if isinstance(reporter, TerminalReporter) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(ProgressLines(reporter), "progress-lines")
