"""Partition scope: the queries of matchers while a graph is split into regions, and the guards that matchers add.

A `Known` dim is a number or an expression of symbols.  A query that algebra cannot decide for all runs is guarded:
the relation is assumed, and checked when a run binds the sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.gemm.bf16.bf16_arithmetic import has_bf16_products
from sardonyx._src.compile.partition.regions.region import Alias, Region, Write
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.prepare.dequantized_constants import DequantizedConstants, upcast_source
from sardonyx._src.compile.prepare.graph_info import GraphInfo
from sardonyx._src.compile.prepare.prepare import PreparedModel
from sardonyx._src.compile.program import CHANNELS_LAST, DENSE, Guard, TensorView
from sardonyx._src.compile.program.operands.layout import Follow, Layout
from sardonyx._src.compile.program.operands.tensor import dense_temporary
from sardonyx._src.compile.program.steps.guards import can_hold
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Graph, Node, Tensor, Value
from sardonyx._src.ir.dims import Expr, Known, dim_min, known_equal, known_ge


class Scope(GraphInfo):
    """A graph that is being partitioned for a target.

    claimed: the nodes of the regions so far, whose results later regions can read.
    reserved: the nodes that no elementwise group may take, each with all nodes of its row program.
    deferred: the regions of values that are computed only if a region reads them; matchers may read their
        operands instead.
    guards: the relations that the matcher being tried relies on; they become the guards of its region, or are
        dropped with it.
    folded_constants: what matchers computed from the constant operands of a node.
    refused: the nodes that must be fallbacks.
    writers: the region that computes each value, with the result as the region declares it.
    defects: the nodes whose matchers raised an exception, with it; nodes of subgraphs included.
    binds_in_python: whether a run may return to Python to bind data-dependent sizes.
    """

    binds_in_python = True

    def __init__(
        self,
        prepared: PreparedModel,
        target: Target,
        graph: Graph | None = None,
        refused: frozenset[Node] = frozenset(),
    ) -> None:
        super().__init__(prepared, graph)
        self.prepared, self.target, self.refused = prepared, target, refused
        self.defects: dict[Node, Exception] = {}
        self.claimed: set[Node] = set()
        self.reserved: dict[Node, frozenset[Node]] = {}
        self.deferred: dict[Value, Region[object]] = {}
        self.guards: dict[Guard, None] = {}
        self.folded_constants: dict[Node, tuple[Value, ...]] = {}
        self.writers: dict[Value, tuple[Region[object], Write | Alias]] = {}
        self._dequantized = DequantizedConstants(self.model.opset_imports)

    @property
    def rounds_factors(self) -> bool:
        """Whether factors of float32 products are rounded to bfloat16."""
        return self.prepared.precision == "bf16" and has_bf16_products(self.target)

    def record(self, region: Region[object]) -> None:
        """Claims the nodes of a region, and records what it computes, for later queries."""
        self.claimed.update(region.nodes)
        results: tuple[Write | Alias, ...] = (*region.writes, *region.aliases)
        for result in results:
            self.writers[result.value] = (region, result)
        if region.is_deferred:
            self.deferred[region.anchor.outputs[0]] = region

    def bind_node(self, node: Node) -> BoundNode | None:
        """The node with its signature; None if it has none, or is refused."""
        return None if node in self.refused else super().bind_node(node)

    # --- constants ---------------------------------------------------------------------------

    def constant(self, value: Value | None) -> Array | None:
        """The elements of an initializer, or of a deferred value that reads constants only; None for other values."""
        literal = None if value is None else value.initializer
        if value is None or isinstance(literal, Tensor):
            return literal.numpy() if isinstance(literal, Tensor) else None
        return self._dequantized.elements(value) if value in self.deferred else None

    def half_precision_source(self, value: Value) -> Array | None:
        """The half-precision elements of a deferred constant that is promoted to float32; None for any other value."""
        return upcast_source(value) if value in self.deferred else None

    def constant_source(self, value: Value) -> Array | None:
        """The elements of a constant, before their promotion to float32 if they are of half precision."""
        half = self.half_precision_source(value)
        return self.constant(value) if half is None else half

    def is_constant(self, value: Value) -> bool:
        """Whether the elements are known at compile time."""
        return self.half_precision_source(value) is not None or self.constant(value) is not None

    # --- what kernels can read ---------------------------------------------------------------

    def is_native(self, value: Value | None) -> bool:
        """Whether a kernel can read the value: it has known dims, and is computed already or constant."""
        if value is None or self.shape(value) is None:
            return False
        return self.is_computed(value) or self.constant(value) is not None

    def is_computed(self, value: Value) -> bool:
        """Whether the value is an input, or the result of a region that is recorded already."""
        return value.producer is None or value.producer in self.claimed

    def is_channels_last(self, value: Value) -> bool:
        """Whether the value is expected to be held with its channels innermost, and not dense in its own order."""
        if value in self.deferred or value not in self.writers or len(self.known_shape(value)) < 3:
            return False
        tensor = self.expected_tensor(value)
        return CHANNELS_LAST.view(tensor) is not None and not tensor.is_dense

    def expected_tensor(self, value: Value) -> TensorView:
        """A tensor as the region that computes the value will write it, if it can choose the layout; otherwise dense."""
        region, result = self.writers.get(value, (None, None))
        dtype, shape = self.dtype(value), self.known_shape(value)
        if isinstance(result, Alias):
            return result.view(self.expected_tensor(result.source)) or dense_temporary(dtype, shape, "")
        layout: Layout = DENSE if result is None else result.layout
        if isinstance(layout, Follow) and region is not None:
            leads = (read.value for read in region.reads if read.decides_layout)
            layout = layout.choose(channels_last=any(map(self.is_channels_last, leads)))
        return layout.allocate(dtype, shape, "")

    # --- guards ------------------------------------------------------------------------------

    def guard(self, left: Known, right: Known) -> None:
        """Adds the guard that two dims are equal."""
        self.guards[Guard(left, right)] = None

    def guard_equal(self, a: Known, b: Known) -> bool:
        """Whether two dims are equal in every run.

        If that is unproved and the dims depend on a common size, as `min(n, 512)` and `n`, it is guarded and assumed.
        """
        is_equal = known_equal(a, b)
        if is_equal is None and isinstance(a, Expr) and isinstance(b, Expr) and a.symbols() & b.symbols():
            self.guard(a, b)
            return True
        return bool(is_equal)

    def guard_required_equal(self, a: Known, b: Known) -> bool:
        """Whether two dims that an operator requires to be equal can be so; guarded unless proved.

        A run in which they differ is invalid, so the guard makes no valid run bail out.
        """
        is_equal = known_equal(a, b)
        if is_equal is None:
            self.guards[Guard.of(a, b)] = None
        return is_equal is not False

    def guard_node(self, node: Node) -> bool:
        """Whether all sizes that the node's operator requires to be equal can be so; guarded unless proved.

        Shape inference assumes that they are equal, and gives a result the dim of any of the operands.
        """
        return all(
            self.is_size(a) and self.is_size(b) and self.guard_required_equal(a, b)
            for a, b in self.facts.equal_dims(node)
        )

    def required_guards(self, node: Node) -> Iterator[Guard]:
        """The equalities of sizes that a node's operator requires, except those that are proved or cannot hold."""
        for a, b in self.facts.equal_dims(node):
            if self.is_size(a) and self.is_size(b) and known_equal(a, b) is None:
                guard = Guard.of(a, b)
                if can_hold(guard):
                    yield guard

    def guard_ge(self, a: Known, b: Known) -> bool:
        """Whether a >= b in every run; guarded where that is not known."""
        is_ge = known_ge(a, b)
        if is_ge is None:
            self.guard(dim_min(a, b), b)
        return is_ge is not False

    def guard_broadcast(self, size: Known, target: Known) -> bool:
        """Whether `size` broadcasts to `target`, being equal to it or 1, in every run; guarded where that is not known."""
        if size == 1 or known_equal(size, target):
            return True
        if isinstance(size, int) or known_equal(size, target) is False or known_ge(size, 2):
            return self.guard_equal(size, target)
        violation = (size - target) * (size - 1)
        self.guard(violation, 0)
        return True


@dataclass(frozen=True, slots=True)
class RegionGraph:
    """A graph as regions, in order of execution; deferred regions are in the scope."""

    scope: Scope
    regions: Sequence[Region[object]]

    @property
    def all_regions(self) -> Iterator[Region[object]]:
        yield from self.regions
        yield from self.scope.deferred.values()
