"""The facet protocol: how an operator's meaning is written down.

An operator is a module-level `Operator`; its facets are plain functions that name the exact schema versions they
were read against.  There is no fallback from one version to another: a version that no facet names is unsupported.

    op = Operator("Softmax", tolerance="rounding")
    op.infer(1, 11, 13)(same_type)

    @op.eval(13)
    def eval_13(x: Array, *, axis: int) -> Array: ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, TypeVar

import numpy as np

from sardonyx._src.errors import LimitError
from sardonyx._src.ir.graph import Graph
from sardonyx._src.ir.tensors import Array, SparseTensor
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.schema import OpSchema

# What flows along an edge when a model runs: a tensor (ONNX strings are `str` in an object array), a sequence, a
# map, an optional without value, or a sparse tensor.
RuntimeValue: TypeAlias = (
    "Array | SparseTensor | list[RuntimeValue] | dict[int, RuntimeValue] | dict[str, RuntimeValue] | None"
)
Evaluated: TypeAlias = "RuntimeValue | tuple[RuntimeValue, ...]"
Tolerance = Literal["exact", "rounding", "random"]
F = TypeVar("F", bound=Callable[..., object])
K = TypeVar("K")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What one operator may use before it is refused; every bound can be raised by the caller."""

    bytes: int = 1 << 34  # of one result
    iterations: int = 10_000_000  # of one loop
    nodes: int = 1_000_000_000  # called in one run, those of loops and functions included


class Call(Protocol):
    """What a kernel may ask of the run around it, as its keyword argument `call`."""

    version: int  # since_version of the operator
    wanted: tuple[bool, ...]  # for each output of the node, whether somebody named it
    limits: RunLimits

    def run(self, graph: Graph, inputs: Sequence[RuntimeValue]) -> list[RuntimeValue]:
        """Runs a subgraph of the node; `inputs` are for its inputs in order, outer values are in its reach."""
        ...

    def generator(self, seed: float | None) -> np.random.Generator:
        """Random bits: the same for the same `seed`, the session's own without one."""
        ...


def claim(
    call: Call, shape: Sequence[int], dtype: np.dtype[np.generic] | type[np.generic], what: str
) -> None:
    """Raises LimitError, before anything is allocated, when a result of this shape would pass the limit."""
    size = np.dtype(dtype).itemsize
    for dim in shape:
        size *= int(dim)
    if size > call.limits.bytes:
        raise LimitError(
            f"{what} of shape {list(map(int, shape))} would take {size} bytes", limit="limits.bytes"
        )


class Eval(Protocol):
    """A kernel: inputs by position (None: left out; variadic ones follow one by one), attributes by keyword."""

    def __call__(self, *inputs: RuntimeValue, **attributes: object) -> Evaluated: ...


@dataclass(frozen=True, slots=True)
class Kernel:
    """An eval facet, with what the interpreter needs to know to call it."""

    function: Eval
    keywords: frozenset[str]  # attributes it takes
    wants_call: bool
    ignores: frozenset[str]  # attributes of the schema that change nothing


@dataclass(frozen=True, slots=True)
class Body:
    """A body facet: the operator in terms of others, as the text of a function's nodes."""

    text: Callable[[Inference], str]
    opset: int  # of the default domain, which the nodes go by


Step: TypeAlias = tuple[
    int, int
]  # from one version of an operator to another; 0: where the operator is not there
ConvertFacet: TypeAlias = Callable[[Change], Converted]
InferFacet: TypeAlias = Callable[[Inference], Result]
ValueFacet: TypeAlias = Callable[[Inference], "Known | None"]
BodyFacet: TypeAlias = Callable[[Inference], str]


@dataclass(eq=False)
class Operator:
    """An operator of a domain with all that is known about it, by schema version.

    tolerance: how close two right implementations are: the same bits, the same up to rounding, or only alike in
    distribution.  elementwise: output i depends on element i of the (broadcast) inputs alone.
    schema: signatures of an operator that no specification lists, newest last.
    """

    name: str
    domain: str = ""
    tolerance: Tolerance = "exact"
    elementwise: bool = False
    commutative: bool = False
    schema: tuple[OpSchema, ...] = ()
    infers: dict[int, InferFacet] = field(default_factory=dict)
    kernels: dict[int, Kernel] = field(default_factory=dict)
    values: dict[int, ValueFacet] = field(default_factory=dict)
    bodies: dict[int, Body] = field(default_factory=dict)
    conversions: dict[Step, ConvertFacet] = field(default_factory=dict)
    module: str = ""
    parts: set[str] = field(default_factory=set)  # the modules that define it or a facet of it
    about: str = ""  # one line on what it computes; by default the first line of its module, after the name

    def __post_init__(self) -> None:
        if not self.module:
            frame = inspect.currentframe()
            while frame is not None and frame.f_globals.get("__name__") in (__name__, "dataclasses"):
                frame = frame.f_back
            self.module = frame.f_globals["__name__"] if frame else ""
        self.parts.add(importing())
        add(self)

    @property
    def is_random(self) -> bool:
        return self.tolerance == "random"

    def infer(self, *versions: int) -> Callable[[InferFacet], InferFacet]:
        """The types of the outputs, as a function of an `Inference`."""
        return facet(self, "infer", self.infers, versions)

    def value(self, *versions: int) -> Callable[[ValueFacet], ValueFacet]:
        """The elements of output 0 where those of the inputs are known, if only as expressions."""
        return facet(self, "value", self.values, versions)

    def body(self, *versions: int, opset: int) -> Callable[[BodyFacet], BodyFacet]:
        """The operator in terms of others, for one that the specification defines by a function.

        The facet answers with the text of a function, `(X, Y) => (Z) { ... }` in ONNX textual syntax, whose nodes go
        by version `opset` of the default domain.  Names of inputs and outputs are free; `@name` stands for an
        attribute.  It sees types and attributes of the call, since some bodies depend on them, and says with
        `Inference.fail` where there is none.
        """

        def register(found: BodyFacet) -> BodyFacet:
            facet(self, "body", self.bodies, versions)(Body(found, opset))
            return found

        return register

    def convert(self, *steps: Step) -> Callable[[ConvertFacet], ConvertFacet]:
        """What a node of one version becomes in the next or in the previous one, as a function of a `Change`.

        `@op.convert((11, 13))` is the way up from version 11 to 13, `@op.convert((13, 11))` the way back, and
        `@op.convert((20, 0))` says in operator set 19 what an operator says that came with 20.  A step for which
        there is no facet is derived where both versions have one kernel, and refused elsewhere.
        """

        return facet(self, "convert", self.conversions, steps)

    def eval(self, *versions: int, ignores: Sequence[str] = ()) -> Callable[[F], F]:
        """The kernel of the reference engine; `ignores` names attributes that do not change the result."""

        def register(function: F) -> F:
            facet(self, "eval", self.kernels, versions)(kernel(function, ignores))
            return function

        return register


def facet(op: Operator, kind: str, table: dict[K, T], versions: Sequence[K]) -> Callable[[T], T]:
    """Registers a facet for exactly these versions, or steps between two."""
    assert versions, f"the {kind} facet of {op.name} names no version"
    op.parts.add(importing())

    def register(found: T) -> T:
        for version in versions:
            assert version not in table, f"{op.name}-{version} has two {kind} facets"
            table[version] = found
        return found

    return register


def importing() -> str:
    """The module that is being imported, the innermost one if several are; "" if none is."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame.f_globals["__name__"] if frame else ""


def kernel(function: Callable[..., object], ignores: Sequence[str]) -> Kernel:
    parameters = inspect.signature(function).parameters.values()
    keywords = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    return Kernel(function, frozenset(keywords - {"call"}), "call" in keywords, frozenset(ignores))  # type: ignore[arg-type]


OPERATORS: dict[tuple[str, str], Operator] = {}


def add(op: Operator) -> None:
    """Registers an operator; a second one of the same name is an error naming both files."""
    other = OPERATORS.setdefault((op.domain, op.name), op)
    assert other is op, f"{op.domain or 'ai.onnx'}.{op.name} is written in {other.module} and in {op.module}"
