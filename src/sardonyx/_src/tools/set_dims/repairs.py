"""The results of repair rules: changes of constants, and unresolved questions."""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.ir.graph import Node


@dataclass(frozen=True, slots=True)
class InputRepair:
    """Replace an input of a node by a list of sizes, some of them multiples of the prime."""

    node: Node
    slot: int
    sizes: tuple[int, ...]
    remark: str = ""  # on alternatives


@dataclass(frozen=True, slots=True)
class AttributeRepair:
    """Replace an attribute by a list of sizes."""

    node: Node
    name: str
    sizes: tuple[int, ...]
    remark: str = ""  # on alternatives


@dataclass(frozen=True, slots=True)
class ExpandRepair:
    """Expand a constant input along an axis on which it has the old size."""

    node: Node
    slot: int
    axis: int


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A question that a rule cannot decide."""

    node: Node
    why: str


Repair = InputRepair | AttributeRepair | ExpandRepair
RuleResult = Repair | Unresolved
