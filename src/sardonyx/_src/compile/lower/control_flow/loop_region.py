"""Regions of Loop and Scan: bodies with loop-carried states, slices of scan inputs, and scan outputs."""

from __future__ import annotations

from sardonyx._src.compile.partition import Alias, Read, Region, RegionGraph, Scope, Shape, Write
from sardonyx._src.compile.partition.partitioner.subgraphs import SubgraphScope, has_type
from sardonyx._src.compile.partition.regions.requirements import require, require_value
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.prepare.outlining import resolve_identity
from sardonyx._src.compile.program import ANY
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Graph, Node, Value
from sardonyx._src.ir.dims import Known


@dataclass(frozen=True, slots=True)
class LoopState:
    """A loop-carried state.

    formal: the input of the body that receives the state.
    result: the value of the body that is the next state.
    initial: the value before the first iteration; None for a constant true.
    output: the output of the node that receives the last state; None if it is not used.
    """

    formal: Value
    result: Value
    shape: Shape
    initial: Value | None
    output: Value | None = None


@dataclass(frozen=True, slots=True)
class ScanSlice:
    """A value of the body that is a slice of a scan input or output along an axis.

    value: the value of the body.
    sequence: the input or output of the node of which it is a slice.
    backward: whether the slices are visited from the last to the first.
    """

    value: Value
    sequence: Value
    axis: int = 0
    backward: bool = False


@dataclass(frozen=True, slots=True)
class LoopCondition:
    """The conditions of a loop.

    first: the condition of the first iteration; None if it is known to be true.
    invariant: the body's condition input, if the body reads it and it always equals `first`.
    is_carried: whether the last of the states is the condition of the next iteration.
    """

    first: Value | None = None
    invariant: Value | None = None
    is_carried: bool = False


@dataclass(frozen=True, slots=True)
class InlinedLoop:
    """A loop whose body is inlined into the program between two loop steps.

    invariants: values of the body that no iteration changes, each with the equal value of the enclosing graph.
    accumulated: scan outputs of unknown length, which Python accumulates from buffers.
    iteration: the body's iteration number, if the body reads it.
    trip_count: the maximum number of iterations; None if it is unlimited.
    limit: the limit to report, `LOOP_LIMIT` or `SCAN_LIMIT`.
    """

    body: RegionGraph
    invariants: tuple[tuple[Value, Value], ...]
    states: tuple[LoopState, ...]
    scan_inputs: tuple[ScanSlice, ...]
    scan_outputs: tuple[ScanSlice, ...]
    accumulated: tuple[ScanSlice, ...]
    condition: LoopCondition
    iteration: Value | None
    trip_count: Known | Value | None
    limit: int

    @property
    def outputs(self) -> tuple[ScanSlice, ...]:
        """All scan outputs, the accumulated ones last."""
        return *self.scan_outputs, *self.accumulated


class LoopMatcher:
    """Collects the states, inputs and outputs of a loop; raises FallbackRequired for a body that cannot be inlined.

    An output of the node is the tensor of a state, or a tensor of which each iteration writes a slice, or, for a
    state that no iteration changes, an alias of its initial value.
    """

    def __init__(self, scope: Scope, graph: Graph) -> None:
        require(not any(value.initializer for value in graph.inputs))
        self.scope, self.graph, self.body = scope, graph, SubgraphScope(scope, graph)
        self.invariants = {value: value for value in self.body.variables}
        self.states: list[LoopState] = []
        self.aliases: list[Alias] = []
        self.scan_inputs: list[ScanSlice] = []
        self.scan_outputs: list[ScanSlice] = []
        self.accumulated: list[ScanSlice] = []
        self.condition = LoopCondition()
        self.iteration: Value | None = None

    def carry_state(self, formal: Value, initial: Value, result: Value, output: Value | None) -> None:
        """Adds a state, which must keep its dims and type; one that no iteration changes becomes an invariant."""
        require(self.scope.is_native(initial))
        dtype, shape = self.scope.dtype(initial), self.scope.known_shape(initial)
        require(all(has_type(self.body, value, dtype, shape) for value in (formal, result)))
        if resolve_identity(result) is formal:
            self.invariants[formal] = initial
            if initial in self.scope.writers:
                self.body.writers[formal] = self.scope.writers[initial]
            if output is not None:
                self.aliases.append(Alias(output, initial, lambda tensor: tensor))
        else:
            require(output is None or has_type(self.scope, output, dtype, shape))
            self.states.append(LoopState(formal, result, shape, initial, output))

    def slice_input(self, part: ScanSlice) -> None:
        """Adds the slice of a scan input that an iteration reads."""
        shape = drop_axis(self.scope.known_shape(part.sequence), part.axis)
        require(has_type(self.body, part.value, self.scope.dtype(part.sequence), shape))
        self.scan_inputs.append(part)

    def write_scan_output(self, part: ScanSlice) -> None:
        """Adds the slice of a scan output that an iteration writes."""
        shape = drop_axis(require_value(self.scope.shape(part.sequence)), part.axis)
        require(has_type(self.body, part.value, self.scope.dtype(part.sequence), shape))
        self.scan_outputs.append(part)

    def accumulate_output(self, part: ScanSlice) -> None:
        """Adds a scan output of unknown length, which is accumulated outside the program from buffers.

        The dims of its slices are the same in all iterations.
        """
        shape = require_value(self.body.shape(part.value))
        require(not isinstance(self.scope, SubgraphScope) and all(map(self.scope.is_size, shape)))
        self.accumulated.append(part)

    def region(self, node: Node, trip_count: Known | Value | None, limit: int) -> Region[InlinedLoop]:
        """The region of the loop.  A loop without results is left to a fallback, which checks its limits."""
        require(bool(self.states or self.scan_outputs or self.accumulated))
        config = InlinedLoop(
            self.body.partition(),
            tuple(self.invariants.items()),
            tuple(self.states),
            tuple(self.scan_inputs),
            tuple(self.scan_outputs),
            tuple(self.accumulated),
            self.condition,
            self.iteration,
            trip_count,
            limit,
        )
        outputs = (state.output for state in self.states if state.output is not None)
        writes = tuple(Write(value) for value in (*outputs, *(part.sequence for part in self.scan_outputs)))
        return Region("InlinedLoop", (node,), config, operands_of(config), writes, tuple(self.aliases))


def operands_of(loop: InlinedLoop) -> tuple[Read, ...]:
    """The values that a loop reads, each once."""
    values = (
        *(value for _, value in loop.invariants),
        *(state.initial for state in loop.states),
        *(part.sequence for part in loop.scan_inputs),
        loop.condition.first,
        loop.trip_count,
    )
    return tuple(Read(value, ANY) for value in dict.fromkeys(v for v in values if isinstance(v, Value)))


def drop_axis(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]


def used_output(op: BoundNode, index: int) -> Value | None:
    return op.node.outputs[index] if op.is_output_used(index) else None


def is_read(value: Value) -> bool:
    return bool(value.uses) or value.is_graph_output


def has_one_element(scope: Scope, value: Value, dtype: DataType) -> bool:
    """Whether a value is native and has one element, of this type."""
    shape = scope.shape(value)
    is_single = shape is not None and all(dim == 1 for dim in shape)
    return is_single and scope.is_native(value) and scope.dtype_of(value) is dtype
