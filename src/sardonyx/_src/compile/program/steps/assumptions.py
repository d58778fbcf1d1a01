"""Assumptions about runs, for which a program is specialized: branches of Ifs, ranks of values, elements of parameters.

Inference does not know the rank of an If's result if its branches return different ranks, nor the rank of an element
of a sequence, nor the axes of a reduction that a run feeds.  Earlier runs show them.  A specialized program checks
its assumptions.  It returns the conditions of Ifs as additional outputs, and checks ranks where it binds sizes
(`BindSizes`).  A run that violates one is repeated by another program.  Fed elements are compared before the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Node, TensorType, Value

MAX_PARAMETER_ELEMENTS = 64

THEN_BRANCH, ELSE_BRANCH = "then_branch", "else_branch"


@dataclass(frozen=True, slots=True, order=True)
class BranchTaken:
    """The branch that an If takes.

    output: the name of the If's first output.
    is_then: whether it takes its then_branch.
    """

    output: str
    is_then: bool

    def __str__(self) -> str:
        return f"{self.output} takes {THEN_BRANCH if self.is_then else ELSE_BRANCH}"


@dataclass(frozen=True, slots=True, order=True)
class RankObserved:
    """The rank of a value that a node computes."""

    value: str
    rank: int

    def __str__(self) -> str:
        return f"rank of {self.value} == {self.rank}"


@dataclass(frozen=True, slots=True, order=True)
class ElementsObserved:
    """The elements of an input of the model that nodes read as a parameter, such as axes.

    dtype: NumPy's name of the element type.
    data: the elements in row-major order, in the byte order of the machine.
    """

    input: str
    dtype: str
    shape: tuple[int, ...]
    data: bytes

    @staticmethod
    def of(input: str, array: Array) -> ElementsObserved:
        return ElementsObserved(input, array.dtype.name, array.shape, array.tobytes())

    @property
    def array(self) -> Array:
        return np.frombuffer(self.data, np.dtype(self.dtype)).reshape(self.shape)

    def is_true_of(self, value: object) -> bool:
        """Whether a fed value is an array with these elements."""
        return (
            isinstance(value, np.ndarray)
            and value.shape == self.shape
            and value.dtype == self.dtype
            and value.tobytes() == self.data
        )

    def __str__(self) -> str:
        return f"{self.input} == {self.array.tolist()}"


Assumption: TypeAlias = "BranchTaken | RankObserved | ElementsObserved"
# One set for each round of specialization; its assumptions name values of the model as prepared for the
# rounds before.
Assumptions: TypeAlias = "tuple[frozenset[Assumption], ...]"


@dataclass(frozen=True, slots=True)
class Observation:
    """The facts that a run can observe at a node: the branch that it takes, or the ranks of some outputs.

    condition: the condition of an If; None for other nodes.
    """

    condition: Value | None
    outputs: tuple[Value, ...]


def observation_of(node: Node) -> Observation | None:
    """The facts that a run could observe at a node executed by a fallback; None if inference knows all ranks."""
    if THEN_BRANCH in node.attributes and node.inputs and node.inputs[0] is not None:
        return None if all(map(has_static_shape, node.outputs)) else Observation(node.inputs[0], node.outputs)
    unknown = tuple(
        v for v in node.outputs if v.uses and isinstance(v.type, TensorType) and v.type.shape is None
    )
    return Observation(None, unknown) if unknown else None


def has_static_shape(value: Value) -> bool:
    """Whether the rank of a value is known, or nothing reads the value."""
    is_known = isinstance(value.type, TensorType) and value.type.shape is not None
    return is_known or not (value.uses or value.is_graph_output)


def ranks_of(assumptions: Iterable[frozenset[Assumption]]) -> dict[str, int]:
    """The assumed ranks, by the names of values."""
    return {a.value: a.rank for round_ in assumptions for a in round_ if isinstance(a, RankObserved)}


def elements_of(assumptions: Iterable[frozenset[Assumption]]) -> list[ElementsObserved]:
    """The assumed elements of inputs, sorted by their names."""
    return sorted(a for round_ in assumptions for a in round_ if isinstance(a, ElementsObserved))


def format_assumptions(assumptions: Sequence[frozenset[Assumption]]) -> str:
    """All assumptions, in the order in which they were made."""
    return ", ".join(str(a) for round_ in assumptions for a in sorted(round_, key=str))
