"""Regions: the nodes that one lowering turns into kernel calls, with the values that they read and write.

Partition splits a graph into regions: an anchor node with all that is fused into its kernel.  A region says which layout
it reads each value in and writes each result in; the layout stage finds or copies tensors accordingly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.program import DENSE, Guard, TensorView
from sardonyx._src.compile.program.operands.layout import Layout
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Node, Value
from sardonyx._src.ir.dims import Known

Shape = tuple[Known, ...]
C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Read:
    """A value that a region reads, and the layout that its kernel requires.

    decides_layout: whether the region works channels-last if the value is held channels-last (see `FOLLOW`).
    """

    value: Value
    layout: Layout = DENSE
    decides_layout: bool = False


@dataclass(frozen=True, slots=True)
class Write:
    """A result of a region, and the layout that its kernel writes."""

    value: Value
    layout: Layout = DENSE


@dataclass(frozen=True, slots=True)
class Alias:
    """A result that is a view of a value that the region reads: no kernel computes it.

    view: returns the result's view of a tensor of the source; None where no strides express it.
    inverse: returns the view with the source's dims of a tensor of the result, for results that have all elements of
        the source.
    """

    value: Value
    source: Value
    view: Callable[[TensorView], TensorView | None]
    inverse: Callable[[TensorView, Shape], TensorView | None] | None = None


@dataclass(frozen=True, slots=True)
class FusedEpilogue:
    """The consumers that are fused into a kernel's store.

    nodes: the fused nodes.
    result: the value that the kernel writes.
    reads: the operands `o0`, `o1`, ... of the expression.
    shapes: their dims, broadcast to the rank of the result.
    """

    epilogue: Epilogue
    result: Value
    nodes: tuple[Node, ...] = ()
    reads: tuple[Read, ...] = ()
    shapes: tuple[Shape, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Region(Generic[C_co]):
    """Nodes that one lowering turns into steps.

    kind: names the lowering, and is the operator of the anchor unless several operators share one.
    nodes: the nodes in the order of the graph, the anchor first.
    config: the parameters of the lowering.
    reads: the values read, without those of the epilogue.
    guards: the relations between dims on which the match relies.
    last: the node at whose position in the graph the region is executed, if that is not the anchor.
    is_deferred: whether the region is executed only if another region reads its result, just before that region.
    binds_sizes: whether the region's steps and actions bind the data-dependent sizes of its results.
    """

    kind: str
    nodes: tuple[Node, ...]
    config: C_co
    reads: tuple[Read, ...] = ()
    writes: tuple[Write, ...] = ()
    aliases: tuple[Alias, ...] = ()
    epilogue: FusedEpilogue | None = None
    guards: tuple[Guard, ...] = ()
    last: Node | None = None
    is_deferred: bool = False
    binds_sizes: bool = False

    @property
    def anchor(self) -> Node:
        return self.nodes[0]

    @property
    def all_reads(self) -> tuple[Read, ...]:
        """The values read, with the operands of the epilogue."""
        return self.reads if self.epilogue is None else (*self.reads, *self.epilogue.reads)

    @property
    def results(self) -> Iterator[Value]:
        """The values that the region computes for others."""
        yield from (write.value for write in self.writes)
        yield from (alias.value for alias in self.aliases)

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(name_of(node) for node in self.nodes)


def fused_region(
    kind: str,
    node: Node,
    config: C,
    reads: tuple[Read, ...],
    epilogue: FusedEpilogue,
    layout: Layout = DENSE,
) -> Region[C]:
    """The region of a node with an epilogue, whose result the kernel writes in a layout."""
    write = Write(epilogue.result, layout)
    return Region(kind, (node, *epilogue.nodes), config, reads, (write,), epilogue=epilogue)


@dataclass(frozen=True, slots=True)
class Fallback:
    """The config of a region of one node that its reference kernel computes."""


def fallback_region(node: Node) -> Region[Fallback]:
    """The region of a node that no kernel supports."""
    return Region("Fallback", (node,), Fallback())


def describe(region: Region[object]) -> str:
    """The kind and the nodes of a region, for messages."""
    return f"region {region.kind} ({' + '.join(region.node_names)})"


def name_of(node: Node) -> str:
    """The name of a node, or of its first output if it has none."""
    return node.name or next((value.name for value in node.outputs if value.name), node.op_type)
