"""Shape policies: what a session does where a size is another than the model declares (docs/rulings.md)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
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
    """The places that a session has warned of: each is reported once."""

    places: set[str] = field(default_factory=set)

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
