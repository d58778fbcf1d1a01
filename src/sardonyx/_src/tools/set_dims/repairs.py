"""The results of repair rules: changes of constants, and unresolved questions."""

from __future__ import annotations

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Node


@dataclass(frozen=True, slots=True)
class InputRepair:
    """A repair: an input of a node becomes a list of sizes, some of them multiples of the prime.

    remark: what the note on the repair says about alternatives.
    """

    node: Node
    slot: int
    sizes: tuple[int, ...]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class AttributeRepair:
    """A repair: an attribute becomes a list of sizes; fields as of `InputRepair`."""

    node: Node
    name: str
    sizes: tuple[int, ...]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class ExpandRepair:
    """A repair: a constant input is expanded along an axis on which it has the old size."""

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
