"""The interface between operators and the rest of the package: `Operator`, and the facets that define an operator.

An operator is a module-level `Operator`.  Each of its facets, such as its type inference or its kernel, is a plain function,
registered for exactly the schema versions that it was written for.  There is no fallback from one version to another: a
version for which there is no facet is unsupported.

    op = Operator("Softmax", tolerance="rounding")
    op.infer(1, 11, 13)(same_type)

    @op.eval(13)
    def eval_13(x: Array, *, axis: int) -> Array: ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, cast

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import LimitError
from sardonyx._src.ir import Graph, TensorType, Type
from sardonyx._src.ops.backward_step import BackwardStep, Gradients
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.native_kernel import NativeKernel
from sardonyx._src.ops.run_values import ARRAY_OVERHEAD as ARRAY_OVERHEAD
from sardonyx._src.ops.run_values import SEQUENCES as SEQUENCES
from sardonyx._src.ops.run_values import RunLimits as RunLimits
from sardonyx._src.ops.run_values import RunResult as RunResult
from sardonyx._src.ops.run_values import RuntimeValue as RuntimeValue
from sardonyx._src.ops.run_values import as_plain_value as as_plain_value
from sardonyx._src.ops.run_values import as_run_sequence as as_run_sequence
from sardonyx._src.ops.run_values import as_run_value as as_run_value
from sardonyx._src.ops.run_values import is_number as is_number
from sardonyx._src.ops.traits import OperatorTraits
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter
from sardonyx._src.schema import OpSchema

if TYPE_CHECKING:
    from sardonyx._src.ops.bound_kernel import BindFacet


Evaluated: TypeAlias = "RuntimeValue | tuple[RuntimeValue, ...]"
# Raised by kernels and facets, mostly from NumPy, for operands that do not fit together.
OPERAND_ERRORS = (ValueError, IndexError, TypeError, KeyError, ArithmeticError)
# A subgraph as a function of its inputs, in order.
GraphCall: TypeAlias = "Callable[[Sequence[RuntimeValue]], list[RuntimeValue]]"
F = TypeVar("F", bound=Callable[..., object])
K = TypeVar("K")
T = TypeVar("T")


class RunContext(Protocol):
    """The run that a kernel is part of; a kernel that needs it has a keyword argument `context`."""

    version: int  # since_version of the operator
    requested_outputs: tuple[bool, ...]  # for each output of the node, whether it is named
    limits: RunLimits

    def check(self) -> None:
        """Raises CancelledError or LimitError if the run must end now: for kernels that loop in Python."""
        ...

    @property
    def available_bytes(self) -> int:
        """The part of `limits.run_bytes` that is not in use."""
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
    """The type of a tensor; None for an omitted input, and for a value that is no tensor."""
    return TensorType(DataType.of(value.dtype), value.shape) if isinstance(value, np.ndarray) else None


def check_result_bytes(
    context: RunContext, shape: Sequence[int], dtype: np.dtype[np.generic] | type[np.generic], what: str
) -> None:
    """Raises LimitError if a result of this shape would exceed a limit; to be called before the result is allocated."""
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
    """Raises LimitError, with this reason, if `size` more bytes would exceed the limit of the run."""
    if size > (left := context.available_bytes):
        raise LimitError(f"{why}, and the run has {left} left", limit="limits.run_bytes")


class Eval(Protocol):
    """A kernel.

    Inputs are passed by position, attributes by keyword.  An omitted input is None, and the operands of a variadic input are
    separate arguments.
    """

    def __call__(self, *inputs: RuntimeValue, **attributes: object) -> Evaluated: ...


@dataclass(frozen=True, slots=True)
class ReferenceKernel:
    """An eval facet and its calling convention.

    keywords: the names of the attributes that are its arguments
    wants_context: whether the `RunContext` is an argument
    ignores: the attributes of the schema that do not change the result
    """

    function: Eval
    keywords: frozenset[str]
    wants_context: bool
    ignores: frozenset[str]


@dataclass(frozen=True, slots=True)
class FunctionBody:
    """A body facet: the operator defined by a function of other operators, as text."""

    text: Callable[[Inference], str]
    opset: int  # the operator set of the default domain that its nodes use


# The version of an operator before and after a conversion; 0: an operator set without the operator.
VersionStep: TypeAlias = tuple[int, int]
ConvertFacet: TypeAlias = Callable[[Adapter], AdaptedNode]
InferFacet: TypeAlias = Callable[[Inference], Result]
ValueFacet: TypeAlias = Callable[[Inference], "Known | None"]
BodyFacet: TypeAlias = Callable[[Inference], str]
GradientFacet: TypeAlias = Callable[[BackwardStep], Gradients]


@dataclass(eq=False)
class Operator(OperatorTraits):
    """An operator of a domain: its traits, and its facets by schema version.

    schema: the signatures of an operator that no specification lists, newest last
    natives: the native kernels of an operator that a caller has defined
    parts: the modules that define the operator or a facet of it
    about: one line on what it computes; default: the first line of its module, without the name
    """

    name: str
    domain: str = ""
    schema: tuple[OpSchema, ...] = ()
    infers: dict[int, InferFacet] = field(default_factory=dict)
    kernels: dict[int, ReferenceKernel] = field(default_factory=dict)
    values: dict[int, ValueFacet] = field(default_factory=dict)
    bodies: dict[int, FunctionBody] = field(default_factory=dict)
    conversions: dict[VersionStep, ConvertFacet] = field(default_factory=dict)
    binds: dict[int, BindFacet] = field(default_factory=dict)
    module: str = ""
    natives: dict[int, NativeKernel] = field(default_factory=dict)
    parts: set[str] = field(default_factory=set)
    about: str = ""

    def __post_init__(self) -> None:
        if not self.module:
            frame = inspect.currentframe()
            while frame is not None and frame.f_globals.get("__name__") in (__name__, "dataclasses"):
                frame = frame.f_back
            self.module = frame.f_globals["__name__"] if frame else ""
        self.parts.add(importing_module())
        register_operator(self)

    def infer(self, *versions: int) -> Callable[[InferFacet], InferFacet]:
        """Register a function from an `Inference` to the types of the outputs."""
        return register_facet(self, "infer", self.infers, versions)

    def value(self, *versions: int) -> Callable[[ValueFacet], ValueFacet]:
        """Register a function from an `Inference` to the known elements of output 0: numbers or expressions."""
        return register_facet(self, "value", self.values, versions)

    def body(self, *versions: int, opset: int) -> Callable[[BodyFacet], BodyFacet]:
        """Register the definition of the operator as a function of other operators.

        The facet returns the text of a function, `(X, Y) => (Z) { ... }` in ONNX textual syntax, whose nodes use version
        `opset` of the default domain.  Its inputs and outputs may have any names; `@name` stands for an attribute.  The
        argument of the facet has the types and attributes of the node, as some bodies depend on them; the facet calls
        `Inference.fail` if there is no body for these.
        """

        def register(text_facet: BodyFacet) -> BodyFacet:
            register_facet(self, "body", self.bodies, versions)(FunctionBody(text_facet, opset))
            return text_facet

        return register

    def convert(self, *steps: VersionStep) -> Callable[[ConvertFacet], ConvertFacet]:
        """Register a function from an `Adapter` to the counterpart of a node in the next or the previous version.

        `@op.convert((11, 13))` converts version 11 to 13, and `@op.convert((13, 11))` converts 13 to 11.
        `@op.convert((20, 0))` expresses an operator that was added in operator set 20 by operators of set 19.  A step without
        a facet is derived if both versions have the same kernel, and refused otherwise.
        """

        return register_facet(self, "convert", self.conversions, steps)

    def gradient(self, *versions: int) -> Callable[[GradientFacet], GradientFacet]:
        """Register a function from a `BackwardStep` to the gradients of the inputs.

        Only the newest version needs one, since models are first converted to the newest operator set.  An operator without
        this facet is differentiated through its body.
        """

        def register(facet: GradientFacet) -> GradientFacet:
            for version in versions:
                key = (self.domain, self.name, version)
                assert key not in GRADIENTS, f"{self.name}-{version} has two gradient facets"
                GRADIENTS[key] = facet
            return facet

        return register

    def bind(self, *versions: int) -> Callable[[BindFacet], BindFacet]:
        """Register a function from a `NodeBinding` to a faster kernel of this node alone; None if it has none.

        Runs of compiled programs call it, with the element types and sizes of an earlier run, in which the kernel of the eval
        facet was evaluated.
        """
        return register_facet(self, "bind", self.binds, versions)

    def eval(self, *versions: int, ignores: Sequence[str] = ()) -> Callable[[F], F]:
        """Register the kernel of the reference engine; `ignores` names attributes that do not change the result."""

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
# Gradient facets by domain, name and version.  They are not fields of operators, since those determine what a session compiles.
GRADIENTS: dict[tuple[str, str, int], GradientFacet] = {}


def register_operator(op: Operator) -> None:
    """Registers an operator; asserts that no other module registered the same name."""
    other = OPERATORS.setdefault((op.domain, op.name), op)
    assert other is op, f"{op.domain or 'ai.onnx'}.{op.name} is written in {other.module} and in {op.module}"
