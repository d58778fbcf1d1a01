"""A difference between two models, and its text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, field
from typing import Literal, get_args

from sardonyx._src.dataclass import dataclass
from sardonyx._src.formatters import format_html

DifferenceKind = Literal[
    "model", "import", "metadata", "doc", "input", "output", "node", "attribute", "edge", "weight", "type", "name",
    "function", "training", "annotation", "device",
]  # fmt: skip
DIFFERENCE_KINDS: tuple[DifferenceKind, ...] = get_args(DifferenceKind)
CHANGE_SIGNS = {"added": "+", "removed": "-", "changed": "~"}
BREAKS = " (breaks callers)"
MOST_TEXT = 200  # characters of the text of each side in a line


@dataclass(frozen=True, slots=True)
class Distance:
    """The distance of two tensors of equal type and shape; infinite if only one has a NaN at some index.

    elements: the number of elements that differ.
    max_abs: the largest absolute difference.
    max_rel: the largest difference relative to the element of the first tensor.
    norm: the L2 norm of the difference.
    of: the L2 norm of the first tensor.
    index: the index of the element with the largest difference.
    """

    elements: int
    max_abs: float
    max_rel: float
    norm: float
    of: float
    index: Sequence[int]

    def __str__(self) -> str:
        where = f" at {list(self.index)}" if self.index else ""
        size = f"L2 {self.norm:.4g} of {self.of:.4g}"
        return f"{self.elements} elements differ, by {self.max_abs:.4g}{where}, relative {self.max_rel:.4g}, {size}"


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that was added, removed or changed.

    kind: the kind of thing, such as a node or an input.
    what: how it differs.
    place: the path to it.
    before, after: its text in the first and in the second model.
    distance: of weights, how far the elements differ.
    breaks: whether callers of the model break: the difference is about an input that they feed or an output that they use.
    """

    kind: DifferenceKind
    what: Literal["added", "removed", "changed"]
    place: str
    before: str = ""
    after: str = ""
    distance: Distance | None = field(default=None)
    breaks: bool = False

    def _repr_html_(self) -> str:
        """The object as a table, in notebooks."""
        return format_html(self)

    def __str__(self) -> str:
        return self.text() + (BREAKS if self.breaks else "")

    def text(self) -> str:
        """The difference in one line, without its effect on callers."""
        head = f"{CHANGE_SIGNS[self.what]} {self.kind} {self.place}".rstrip()
        if self.distance is not None:
            return f"{head}: {self.distance}"
        if self.what == "changed":
            return f"{head}: {brief(self.before)} -> {brief(self.after)}"
        text = brief(self.before or self.after)
        return f"{head}: {text}" if text else head

    def json(self) -> dict[str, object]:
        """The difference as a JSON object; infinite numbers become strings."""
        fields: dict[str, object] = {"kind": self.kind, "what": self.what, "at": self.place}
        fields |= {"before": self.before, "after": self.after, "breaks": self.breaks}
        if self.distance is not None:
            distance = asdict(self.distance)
            distance["at"] = distance.pop("index")
            fields["distance"] = {key: finite(value) for key, value in distance.items()}
        return fields


def finite(value: object) -> object:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def brief(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}... ({len(text)} characters)"
