"""Shape policies: what a session does where an actual size differs from the declared one (docs/rulings.md)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Literal

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import ShapeWarning

ShapePolicy = Literal["inputs", "strict", "warn", "off"]
SHAPE_POLICIES: tuple[ShapePolicy, ...] = ("inputs", "strict", "warn", "off")
# The kind of a checked value.  element: an element of a fed sequence; result: an output or an inner value.
Subject = Literal["input", "element", "result"]
Kind = Literal["rank", "size", "variable"]  # size: a number; variable: a name or an expression
Response = Literal["error", "warning", "none"]
# A session's limit on runs that the reference engine executes only to observe the sizes of values in branches and loops:
# such runs are slow.
MAX_OBSERVED = 8
# Warnings of one run: where an exporter names two sizes alike, every layer has the same finding.
MAX_WARNINGS = 5


def response(policy: ShapePolicy, subject: Subject, kind: Kind) -> Response:
    """The response of a policy to a mismatch."""
    if kind == "rank" and subject != "result":
        return "error"
    if policy == "off":
        return "warning" if kind == "rank" else "none"
    if policy == "strict":
        return "error"
    if subject == "input" and not (policy == "warn" and kind == "variable"):
        return "error"
    return "warning"


@dataclass(slots=True)
class ShapeReports:
    """The locations that the warnings of a session name or count: each is reported once.

    observed: the lengths of names in the runs that the reference engine has executed to observe them.
    """

    locations: set[str] = field(default_factory=set)
    observed: set[frozenset[tuple[str, int]]] = field(default_factory=set)

    def must_observe(self, locations: Iterable[str], lengths: Mapping[str, int]) -> bool:
        """Whether to observe a run with these lengths, which may contradict the declarations at these locations.

        True for the first run with certain lengths, at most `MAX_OBSERVED` times, unless all locations were reported before.
        The lengths are recorded as observed then.
        """
        key = frozenset(lengths.items())
        if self.locations.issuperset(locations) or key in self.observed or len(self.observed) >= MAX_OBSERVED:
            return False
        self.observed.add(key)
        return True

    def warn(self, findings: Iterable[tuple[str, str]], stacklevel: int) -> None:
        """Issues a ShapeWarning for each of the first findings with new locations; the last one counts the others.

        findings: pairs of a location and a message.
        stacklevel: of the caller's caller to whom Python attributes the warning, as for `warnings.warn`.
        """
        new: dict[str, str] = {}
        for location, message in findings:
            if location not in self.locations:
                new.setdefault(location, message)
        rest = [*new][MAX_WARNINGS:]
        for i, location in enumerate([*new][:MAX_WARNINGS], start=1):
            more = f"; {len(rest)} more sizes contradict declarations" if rest and i == MAX_WARNINGS else ""
            self.locations.add(location)
            try:
                warnings.warn(ShapeWarning(new[location] + more), stacklevel=stacklevel + 1)
            except (
                ShapeWarning
            ):  # a filter of the caller makes it an error, and must do so in the next run, too
                self.locations.discard(location)
                raise
        self.locations.update(rest)
