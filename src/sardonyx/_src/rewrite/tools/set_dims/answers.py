"""What a rule answers: constants that must change, or what it cannot decide."""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.ir.graph import Node


@dataclass(frozen=True, slots=True)
class Sizes:
    """An input of a node that must become a list of sizes, multiples of the prime among them."""

    node: Node
    slot: int
    entries: tuple[int, ...]
    remark: str = ""  # on what else it might have been


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute that must become a list of sizes."""

    node: Node
    name: str
    entries: tuple[int, ...]
    remark: str = ""  # on what else it might have been


@dataclass(frozen=True, slots=True)
class Spread:
    """A constant input that must be repeated along an axis, of which it has as many copies as the old size."""

    node: Node
    slot: int
    axis: int


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that cannot be decided."""

    node: Node
    why: str


Repair = Sizes | Attribute | Spread
Answer = Repair | Doubt
