"""Reports of the checker as text: a line a fault, one for its cure, and how many there are."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from sardonyx._src.check import Mend, Report
from sardonyx._src.check.api import Diagnostic, Severity
from sardonyx._src.cli.streams import printable

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
COLOURS = {"error": "1;31", "warning": "33", "info": "36", "mended": "32", "help": "2"}


def is_coloured() -> bool:
    """Whether standard output is a terminal whose user has nothing against colour (NO_COLOR, TERM=dumb)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painted(text: str, kind: str, coloured: bool) -> str:
    return f"\x1b[{COLOURS[kind]}m{text}\x1b[0m" if coloured else text


def fault_lines(name: str, one: Diagnostic, *, coloured: bool, quiet: bool) -> Iterator[str]:
    """A fault, and unless `quiet` its cure."""
    place = "".join(f"{printable(part)}: " for part in (name, one.location) if part)
    severity = painted(one.severity, one.severity, coloured)
    yield f"{place}{severity}: {one.rule} {one.name}: {printable(one.message)}"
    if not quiet:
        yield painted(f"    help: {printable(one.help)}", "help", coloured)


def mend_line(name: str, one: Mend, *, coloured: bool, done: bool) -> str:
    place = "".join(f"{printable(part)}: " for part in (name, one.location) if part)
    word = painted("mended" if done else "can be mended", "mended", coloured)
    return f"{place}{word}: {one.rule} {one.name}: {printable(one.did)}"


def counted(reports: Sequence[Report]) -> str:
    """How many faults of each severity there are: `2 errors, 1 warning`."""
    counts = [(sum(len(report.of(s)) for report in reports), s) for s in SEVERITIES]
    found = [number(n, "note" if s == "info" else s) for n, s in counts if n]
    return ", ".join(found) if found else "no fault found"


def number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
