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
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar, cast

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError, LimitError
from sardonyx._src.ir.graph import Graph
from sardonyx._src.ir.tensors import Array, SparseTensor
from sardonyx._src.ir.types import TensorType, Type
from sardonyx._src.ops.backward_step import BackwardStep, Gradients
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.native_kernel import NativeKernel
from sardonyx._src.ops.persistent_sequence import WIDTH, PersistentSequence
from sardonyx._src.ops.traits import OperatorTraits
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter
from sardonyx._src.schema import OpSchema

# What flows along an edge when a model runs: a tensor (ONNX strings are `str` in an object array), a sequence, a
# map, an optional without value, or a sparse tensor.  Within a run, long sequences are persistent ones.
RuntimeValue: TypeAlias = (
    "Array | SparseTensor | list[RuntimeValue] | PersistentSequence | dict[int, RuntimeValue]"
    " | dict[str, RuntimeValue] | None"
)
SEQUENCES = (list, PersistentSequence)
# An output of a run, as callers see it.  The model alone decides which outputs are arrays, so that code which expects an
# array needs no test that it has one; type checkers still know the attributes of arrays, and `isinstance` narrows the others.
RunResult: TypeAlias = "Array | Any"
Evaluated: TypeAlias = "RuntimeValue | tuple[RuntimeValue, ...]"
# Raised by kernels and facets, mostly from NumPy, for operands that do not fit together.
OPERAND_ERRORS = (ValueError, IndexError, TypeError, KeyError, ArithmeticError)
ARRAY_OVERHEAD = 128  # bytes of a NumPy array besides its elements
# A subgraph as a function of its inputs, in order.
GraphCall: TypeAlias = "Callable[[Sequence[RuntimeValue]], list[RuntimeValue]]"
F = TypeVar("F", bound=Callable[..., object])
K = TypeVar("K")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of what a run may use; the caller can raise each of them.  Past one, the run ends with a LimitError.

    bytes: of one result.  iterations: of one loop.  nodes: executed in the run, those of loops and functions included.
    run_bytes: of everything that the run holds at one time: results that later nodes read, what loops collect, the elements
    of sequences, outputs, and in native code also scratch memory; feeds and weights do not count.  None: three quarters of
    the memory that this process may use, as its control groups or the machine limit it.
    seconds: the duration of the run; a negative or zero one has passed before it begins.
    """

    bytes: int = 1 << 34
    iterations: int = 10_000_000
    nodes: int = 1_000_000_000
    run_bytes: int | None = None
    seconds: float = math.inf

    def __post_init__(self) -> None:
        """Raises InputError for a limit that is not a number."""
        for name in ("bytes", "iterations", "nodes", "run_bytes"):
            number = getattr(self, name)
            if not isinstance(number, int | np.integer) and not (name == "run_bytes" and number is None):
                raise InputError(f"limits.{name} must be an integer; got {number!r}", name=f"limits.{name}")
        if not is_number(self.seconds):
            raise InputError(
                f"limits.seconds must be a number of seconds; got {self.seconds!r}", name="limits.seconds"
            )


def is_number(x: object) -> bool:
    """Whether x is a real number, infinity included."""
    return isinstance(x, int | float | np.integer | np.floating) and not math.isnan(x)


def as_run_value(value: RuntimeValue) -> RuntimeValue:
    """A long list of tensors as a persistent sequence, which later edits share; any other value unchanged."""
    return as_run_sequence(value) if type(value) is list else value


def as_run_sequence(
    sequence: list[RuntimeValue] | PersistentSequence,
) -> list[RuntimeValue] | PersistentSequence:
    """`as_run_value` of a sequence."""
    if type(sequence) is list and len(sequence) >= WIDTH and isinstance(sequence[0], np.ndarray):
        return PersistentSequence.of(sequence)
    return sequence


def as_plain_value(value: RuntimeValue) -> RuntimeValue:
    """A persistent sequence as a list, for callers and observers; any other value unchanged."""
    return list(value) if type(value) is PersistentSequence else value


class RunContext(Protocol):
    """The run that a kernel is part of; kernels that need it take it as keyword argument `context`."""

    version: int  # since_version of the operator
    requested_outputs: tuple[bool, ...]  # for each output of the node, whether it is named
    limits: RunLimits

    def check(self) -> None:
        """Raises CancelledError or LimitError if the run must end now: for kernels that loop in Python."""
        ...

    @property
    def available_bytes(self) -> int:
        """What is left of `limits.run_bytes`."""
        ...

    def bind(self, graph: Graph) -> GraphCall:
        """A subgraph of the node, for any number of calls during this one; the values of outer graphs are visible to it."""
        ...

    def output_types(self, graph: Graph, arguments: Sequence[Type | None]) -> list[Type | None]:
        """The types that the outputs of a subgraph of the node would have for arguments of these types: inferred, or else
        declared; dims are numbers, and None where they are not known."""
        ...

    def random_state(self, seed: int | float | None) -> np.random.RandomState:
        """Random numbers: those that `seed` determines or, without one, the next ones of the session."""
        ...


def tensor_type(value: RuntimeValue) -> TensorType | None:
    """The type of a tensor; None for what is omitted or no tensor."""
    return TensorType(DataType.of(value.dtype), value.shape) if isinstance(value, np.ndarray) else None


def check_result_bytes(
    context: RunContext, shape: Sequence[int], dtype: np.dtype[np.generic] | type[np.generic], what: str
) -> None:
    """Raises LimitError, before anything is allocated, when a result of this shape would pass a limit."""
    size = np.dtype(dtype).itemsize
    for dim in shape:
        size *= int(dim)
    if size <= context.limits.bytes and size <= context.available_bytes:
        return
    why = f"{what} of shape {list(map(int, shape))} would take {size} bytes"
    if size > context.limits.bytes:
        raise LimitError(why, limit="limits.bytes")
    check_run_bytes(context, size, why)


def check_run_bytes(context: RunContext, size: int, why: str) -> None:
    """Raises LimitError with this reason when the run would pass its limit with `size` bytes more."""
    if size > (left := context.available_bytes):
        raise LimitError(f"{why}, and the run has {left} left", limit="limits.run_bytes")


class Eval(Protocol):
    """A kernel: inputs by position (None: left out; variadic ones follow one by one), attributes by keyword."""

    def __call__(self, *inputs: RuntimeValue, **attributes: object) -> Evaluated: ...


@dataclass(frozen=True, slots=True)
class ReferenceKernel:
    """An eval facet and its calling convention."""

    function: Eval
    keywords: frozenset[str]  # names of the attributes that it takes
    wants_context: bool
    ignores: frozenset[str]  # attributes of the schema that do not change the result


@dataclass(frozen=True, slots=True)
class FunctionBody:
    """A body facet: the operator defined by a function of other operators, as text."""

    text: Callable[[Inference], str]
    opset: int  # operator set of the default domain that the nodes use


# From one version of an operator to another; 0: an operator set without the operator.
VersionStep: TypeAlias = tuple[int, int]
ConvertFacet: TypeAlias = Callable[[Adapter], AdaptedNode]
InferFacet: TypeAlias = Callable[[Inference], Result]
ValueFacet: TypeAlias = Callable[[Inference], "Known | None"]
BodyFacet: TypeAlias = Callable[[Inference], str]
GradientFacet: TypeAlias = Callable[[BackwardStep], Gradients]


@dataclass(eq=False)
class Operator(OperatorTraits):
    """An operator of a domain: its traits, and its facets by schema version.

    schema: signatures of an operator that no specification lists, newest last.
    """

    name: str
    domain: str = ""
    schema: tuple[OpSchema, ...] = ()
    infers: dict[int, InferFacet] = field(default_factory=dict)
    kernels: dict[int, ReferenceKernel] = field(default_factory=dict)
    values: dict[int, ValueFacet] = field(default_factory=dict)
    bodies: dict[int, FunctionBody] = field(default_factory=dict)
    conversions: dict[VersionStep, ConvertFacet] = field(default_factory=dict)
    module: str = ""
    natives: dict[int, NativeKernel] = field(default_factory=dict)  # of operators of callers
    parts: set[str] = field(default_factory=set)  # the modules that define it or a facet of it
    about: str = ""  # one line on what it computes; default: the first line of its module, after the name

    def __post_init__(self) -> None:
        if not self.module:
            frame = inspect.currentframe()
            while frame is not None and frame.f_globals.get("__name__") in (__name__, "dataclasses"):
                frame = frame.f_back
            self.module = frame.f_globals["__name__"] if frame else ""
        self.parts.add(importing_module())
        register_operator(self)

    def infer(self, *versions: int) -> Callable[[InferFacet], InferFacet]:
        """The types of the outputs, as a function of an `Inference`."""
        return register_facet(self, "infer", self.infers, versions)

    def value(self, *versions: int) -> Callable[[ValueFacet], ValueFacet]:
        """The elements of output 0 where those of the inputs are known, if only as expressions."""
        return register_facet(self, "value", self.values, versions)

    def body(self, *versions: int, opset: int) -> Callable[[BodyFacet], BodyFacet]:
        """The operator as a function of others, for one that the specification defines so.

        The facet answers with the text of a function, `(X, Y) => (Z) { ... }` in ONNX textual syntax, whose nodes
        use version `opset` of the default domain.  Names of inputs and outputs are free; `@name` stands for an
        attribute.  It sees types and attributes of the call, since some bodies depend on them, and says with
        `Inference.fail` where there is none.
        """

        def register(text_facet: BodyFacet) -> BodyFacet:
            register_facet(self, "body", self.bodies, versions)(FunctionBody(text_facet, opset))
            return text_facet

        return register

    def convert(self, *steps: VersionStep) -> Callable[[ConvertFacet], ConvertFacet]:
        """The counterpart of a node in the next or the previous version, as a function of an `Adapter`.

        `@op.convert((11, 13))` is the way up from version 11 to 13, `@op.convert((13, 11))` the way back, and
        `@op.convert((20, 0))` says in operator set 19 what an operator says that came with 20.  A step for which
        there is no facet is derived where both versions have one kernel, and refused elsewhere.
        """

        return register_facet(self, "convert", self.conversions, steps)

    def gradient(self, *versions: int) -> Callable[[GradientFacet], GradientFacet]:
        """The gradients of the inputs, as a function of a `BackwardStep`.

        Only newest versions need one, since models are converted to them first.  An operator without it is
        differentiated through its body.
        """

        def register(facet: GradientFacet) -> GradientFacet:
            for version in versions:
                key = (self.domain, self.name, version)
                assert key not in GRADIENTS, f"{self.name}-{version} has two gradient facets"
                GRADIENTS[key] = facet
            return facet

        return register

    def eval(self, *versions: int, ignores: Sequence[str] = ()) -> Callable[[F], F]:
        """The kernel of the reference engine; `ignores` names attributes that do not change the result."""

        def register(function: F) -> F:
            register_facet(self, "eval", self.kernels, versions)(make_kernel(function, ignores))
            return function

        return register


def register_facet(op: Operator, kind: str, table: dict[K, T], versions: Sequence[K]) -> Callable[[T], T]:
    """Registers a facet for exactly these versions, or steps between two."""
    assert versions, f"the {kind} facet of {op.name} names no version"
    op.parts.add(importing_module())

    def register(entry: T) -> T:
        for version in versions:
            assert version not in table, f"{op.name}-{version} has two {kind} facets"
            table[version] = entry
        return entry

    return register


def importing_module() -> str:
    """The innermost module that is being imported; "" if there is none."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame.f_globals["__name__"] if frame else ""


def make_kernel(function: Callable[..., object], ignores: Sequence[str]) -> ReferenceKernel:
    parameters = inspect.signature(function).parameters.values()
    keywords = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    return ReferenceKernel(
        cast(Eval, function), frozenset(keywords - {"context"}), "context" in keywords, frozenset(ignores)
    )


OPERATORS: dict[tuple[str, str], Operator] = {}
# Gradient facets by domain, name and version: no fields of operators, whose other facets are what a session compiles.
GRADIENTS: dict[tuple[str, str, int], GradientFacet] = {}


def register_operator(op: Operator) -> None:
    """Registers an operator; asserts that no other module registered the same name."""
    other = OPERATORS.setdefault((op.domain, op.name), op)
    assert other is op, f"{op.domain or 'ai.onnx'}.{op.name} is written in {other.module} and in {op.module}"
