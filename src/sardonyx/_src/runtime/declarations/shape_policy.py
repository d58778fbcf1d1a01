"""Shape policies: what a session does where a size is another than the model declares (docs/rulings.md)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sardonyx._src.errors import ShapeWarning

ShapePolicy = Literal["inputs", "strict", "warn", "off"]
SHAPE_POLICIES: tuple[ShapePolicy, ...] = ("inputs", "strict", "warn", "off")
Subject = Literal[
    "input", "element", "result"
]  # element: of a fed sequence; result: an output or an inner value
Kind = Literal["rank", "size", "variable"]  # size: a number; variable: a name or an expression
Response = Literal["error", "warning", "none"]
# Runs of a session that the reference engine observes for what branches and loops may compute; each takes its time.
MAX_OBSERVED = 8


def response(policy: ShapePolicy, subject: Subject, kind: Kind) -> Response:
    """What a mismatch leads to."""
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
    """The places that a session has warned of: each is reported once.

    observed: the lengths of names in the runs of the native engine that the reference engine has observed.
    """

    places: set[str] = field(default_factory=set)
    observed: set[frozenset[tuple[str, int]]] = field(default_factory=set)

    def must_observe(self, places: Iterable[str], lengths: Mapping[str, int]) -> bool:
        """Whether to observe a run with these lengths, which may contradict declarations in these places.

        That is so for the first run with given lengths, up to `MAX_OBSERVED` times, unless all places have been reported.
        Records that the run is observed.
        """
        key = frozenset(lengths.items())
        if self.places.issuperset(places) or key in self.observed or len(self.observed) >= MAX_OBSERVED:
            return False
        self.observed.add(key)
        return True

    def warn(self, findings: Iterable[tuple[str, str]], stacklevel: int) -> None:
        """Issues a ShapeWarning for each place, given with its message, that is new.

        stacklevel: of the caller's caller to whom Python attributes the warning, as for `warnings.warn`.
        """
        for place, message in findings:
            if place in self.places:
                continue
            self.places.add(place)
            try:
                warnings.warn(ShapeWarning(message), stacklevel=stacklevel + 1)
            except ShapeWarning:  # which a filter of the caller's made an error: it stays one
                self.places.discard(place)
                raise
