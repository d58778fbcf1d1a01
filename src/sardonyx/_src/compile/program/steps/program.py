"""Compiled programs: a list of actions over tensors in buffers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from sardonyx._src.compile.program import EXACT, Buffer, Guard, Kernel, Precision, Step, TensorView
from sardonyx._src.compile.program.steps.assumptions import BranchTaken, Observation
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Model, Node, Value
from sardonyx._src.ir.dims import Expr, Known


@dataclass(frozen=True, slots=True)
class FallbackOp:
    """A fallback op: a node executed by the reference engine, because there is no native kernel for it.

    native_inputs: the tensors of inputs that native steps compute, captured values of subgraphs included.

    The outputs are values in Python, not tensors in buffers.
    """

    node: Node
    native_inputs: Mapping[Value, TensorView]

    @property
    def reads(self) -> tuple[TensorView, ...]:
        return tuple(self.native_inputs.values())

    @property
    def writes(self) -> tuple[TensorView, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class CopyIn:
    """Copies an output of a fallback op into a tensor; the output must have the shape and type that were inferred."""

    value: Value
    tensor: TensorView

    @property
    def reads(self) -> tuple[TensorView, ...]:
        return ()

    @property
    def writes(self) -> tuple[TensorView, ...]:
        return (self.tensor,)


@dataclass(frozen=True, slots=True, eq=False)
class BindSizes:
    """Binds the data-dependent sizes of a value that a fallback op, a loop or a kernel step has just computed.

    symbols: by axis, the symbols of the lengths that depend on elements.  No earlier action depends on them; the
        slots of later actions are computed for the lengths that are bound here.
    count: the int64 in which a kernel step has written the only such length; None if Python holds the value.
    limit: the greatest value of `count`; None if there is none.
    """

    value: Value
    rank: int
    symbols: Mapping[int, str]
    count: TensorView | None = None
    limit: Known | None = None

    def __str__(self) -> str:
        lengths = (f"{symbol} = length of axis {axis}" for axis, symbol in self.symbols.items())
        return f"{self.value.name}: {', '.join(lengths)}"

    @property
    def reads(self) -> tuple[TensorView, ...]:
        return () if self.count is None else (self.count,)

    @property
    def writes(self) -> tuple[TensorView, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class CollectScanOutputs:
    """Scan-output accumulation: Python appends the slices that loop iterations have written to buffers, [iterations, ...].

    buffers: the buffer of each scan output, reused by later iterations.
    iterations: the number of iterations so far, one int64.
    is_last: whether the scan outputs are complete.
    """

    buffers: Mapping[Value, TensorView]
    iterations: TensorView
    is_last: bool

    @property
    def reads(self) -> tuple[TensorView, ...]:
        return *self.buffers.values(), self.iterations

    @property
    def writes(self) -> tuple[TensorView, ...]:
        return ()


COUNT_AXIS = 64  # in `Program.sizes`, after all axes: the length is the only element of the input
Action: TypeAlias = "Step | FallbackOp | CopyIn | BindSizes | CollectScanOutputs"


@dataclass(slots=True)
class Program:
    """A compiled program: actions in order of execution.

    sizes: for each symbolic dim, the input and axis that has this length, or COUNT_AXIS for a fed count; data-dependent
        sizes are not among them.
    inputs: the tensors of the inputs that native steps read.
    outputs: the tensor of each output, or None if a fallback op computes it.
    status: the status block.
    guards: the relations between dims that every run checks.
    local_guards: the guards of local sizes, which binding steps check.
    assumed_branches: the additional outputs that are conditions, by name, with the branches that they must choose.
    observations: what runs can observe at fallback ops, for which a program could be specialized.
    parameters: the inputs that fallback ops read as parameters; a program could be specialized for their elements.
    precision: the element type to which factors of float32 products are rounded.
    in_place: the inputs in whose memory a run may write outputs, by the names of the outputs (`verification/in_place_outputs.py`).
    """

    model: Model
    actions: list[Action]
    sizes: Mapping[str, tuple[str, int]]
    inputs: Mapping[Value, TensorView]
    outputs: Mapping[Value, TensorView | None]
    status: TensorView
    guards: tuple[Guard, ...] = ()
    assumed_branches: Mapping[str, BranchTaken] = field(default_factory=dict)
    observations: Mapping[Node, Observation] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    precision: Precision = EXACT
    local_guards: tuple[Guard, ...] = ()
    in_place: Mapping[str, str] = field(default_factory=dict)

    @property
    def local_symbols(self) -> frozenset[str]:
        """The symbols of the local sizes."""
        return local_symbols(self.actions)

    @property
    def steps(self) -> list[Step]:
        return [action for action in self.actions if isinstance(action, Step)]

    @property
    def kernels(self) -> list[Kernel]:
        """The distinct kernels of the steps, in order of first use."""
        return list({step.kernel.key: step.kernel for step in self.steps}.values())

    @property
    def constants(self) -> list[Buffer]:
        """The distinct constant buffers that steps read, in order of first use."""
        buffers = (arg.buffer for step in self.steps for arg in step.args if isinstance(arg, TensorView))
        return list(dict.fromkeys(buffer for buffer in buffers if buffer.role == "constant"))

    @property
    def constant_bytes(self) -> int:
        """Bytes of the constants that steps read, each counted once."""
        return sum(buffer.content.nbytes for buffer in self.constants if buffer.content is not None)

    @property
    def bindings(self) -> list[BindSizes]:
        """The actions that bind data-dependent sizes, in order."""
        return [action for action in self.actions if isinstance(action, BindSizes)]

    @property
    def stages(self) -> dict[str, int]:
        """The stage of each symbol: 0 for the sizes of inputs, i + 1 for those that the i-th of `bindings` binds first.

        An expression of symbols of stage i and below can be computed once i bindings have been executed.
        """
        stages = dict.fromkeys(self.sizes, 0)
        for i, binding in enumerate(self.bindings):
            for name in binding.symbols.values():
                stages.setdefault(name, i + 1)
        return stages

    @property
    def counts(self) -> dict[str, str]:
        """The symbols of the fed counts, by input."""
        return {of: name for name, (of, axis) in self.sizes.items() if axis == COUNT_AXIS}

    @property
    def is_static(self) -> bool:
        """Whether all sizes are known at compile time."""
        return not self.stages


def local_symbols(actions: Iterable[Action]) -> frozenset[str]:
    """The symbols of the sizes that steps bind (`local_sizes`)."""
    bound = (action.binds.limits for action in actions if isinstance(action, Step) and action.binds)
    return frozenset().union(*bound)


def depends_on(size: object, symbols: Collection[str]) -> bool:
    """Whether a size, or another argument of a kernel, is an expression of one of the symbols."""
    return isinstance(size, Expr) and not size.symbols().isdisjoint(symbols)


def stage_of(size: Known, stages: Mapping[str, int]) -> int:
    """The stage from which on a size can be computed.  stages: the stage of each symbol."""
    return 0 if isinstance(size, int) else max((stages.get(name, 0) for name in size.symbols()), default=0)


def describe_action(actions: Sequence[Action], index: int) -> str:
    """The number of an action, its kernel and its nodes, for messages."""
    match actions[index]:
        case Step(kernel=kernel, nodes=nodes):
            return f"step {index}, {kernel.key} ({' + '.join(nodes)}),"
        case FallbackOp(node=node):
            return f"action {index}, fallback {node.op_type},"
    return f"action {index}"
