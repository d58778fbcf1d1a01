"""Checker reports as text: one line per diagnostic, one for its help, and a count by severity."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from sardonyx._src.check import AppliedFix, Report
from sardonyx._src.check.engine import Severity
from sardonyx._src.check.engine.api import Diagnostic
from sardonyx._src.cli.output.streams import printable

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
SGR_CODES = {"error": "1;31", "warning": "33", "info": "36", "fixed": "32", "help": "2"}


def use_color() -> bool:
    """Whether standard output is a terminal and color is not disabled by NO_COLOR or TERM=dumb."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, kind: str, colored: bool) -> str:
    return f"\x1b[{SGR_CODES[kind]}m{text}\x1b[0m" if colored else text


def format_diagnostic(name: str, diagnostic: Diagnostic, *, colored: bool, quiet: bool) -> Iterator[str]:
    """The line of a diagnostic and, unless `quiet`, that of its help."""
    place = "".join(f"{printable(part)}: " for part in (name, diagnostic.location) if part)
    severity = paint(diagnostic.severity, diagnostic.severity, colored)
    yield f"{place}{severity}: {diagnostic.rule} {diagnostic.name}: {printable(diagnostic.message)}"
    if not quiet:
        yield paint(f"    help: {printable(diagnostic.help)}", "help", colored)


def format_fix(name: str, applied: AppliedFix, *, colored: bool, done: bool) -> str:
    place = "".join(f"{printable(part)}: " for part in (name, applied.location) if part)
    word = paint("fixed" if done else "fixable", "fixed", colored)
    return f"{place}{word}: {applied.rule} {applied.name}: {printable(applied.did)}"


def count_by_severity(reports: Sequence[Report]) -> str:
    """The number of diagnostics by severity: `2 errors, 1 warning`."""
    return Report(tuple(diagnostic for report in reports for diagnostic in report.diagnostics)).counts()
