"""One difference, and how it is told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal, get_args

Kind = Literal[
    "model", "import", "metadata", "doc", "input", "output", "node", "attribute", "edge", "weight", "type", "name",
    "function", "training", "annotation", "device",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)
SIGNS = {"added": "+", "removed": "-", "changed": "~"}
MOST_TEXT = 200  # characters of either side in a line


@dataclass(frozen=True, slots=True)
class Distance:
    """How far two tensors of one type and shape are apart; infinite where one has a NaN that the other has not.

    max_rel: relative to the element of the first tensor; norm: the square root of the sum of squared differences;
    of: that of the first tensor's squared elements; at: the index of the element that is furthest off.
    """

    elements: int
    max_abs: float
    max_rel: float
    norm: float
    of: float
    at: Sequence[int]

    def __str__(self) -> str:
        where = f" at {list(self.at)}" if self.at else ""
        size = f"L2 {self.norm:.4g} of {self.of:.4g}"
        return f"{self.elements} elements differ, by {self.max_abs:.4g}{where}, relative {self.max_rel:.4g}, {size}"


@dataclass(frozen=True, slots=True)
class Change:
    """Something that was added, removed or changed; `at` is its place, `before` and `after` are texts of it."""

    kind: Kind
    what: Literal["added", "removed", "changed"]
    at: str
    before: str = ""
    after: str = ""
    distance: Distance | None = field(default=None)

    def __str__(self) -> str:
        head = f"{SIGNS[self.what]} {self.kind} {self.at}".rstrip()
        if self.distance is not None:
            return f"{head}: {self.distance}"
        if self.what == "changed":
            return f"{head}: {brief(self.before)} -> {brief(self.after)}"
        text = brief(self.before or self.after)
        return f"{head}: {text}" if text else head

    def json(self) -> dict[str, object]:
        """The change as JSON has it, in which an infinite number is a text."""
        found = asdict(self)
        if self.distance is None:
            del found["distance"]
        else:
            found["distance"] = {key: finite(value) for key, value in asdict(self.distance).items()}
        return found


def finite(value: object) -> object:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def brief(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}... ({len(text)} characters)"
