"""Laid-out graphs, the results of layout assignment: regions with the tensors that they read and write, and copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.layouts.constants import ConstantPool
from sardonyx._src.compile.partition import Region, RegionGraph
from sardonyx._src.compile.program import Guard, TensorView
from sardonyx._src.compile.program.steps.program import BindSizes, CopyIn, FallbackOp
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import Known

C_co = TypeVar("C_co", covariant=True)


@dataclass(frozen=True, slots=True)
class LaidOutRegion(Generic[C_co]):
    """A region with the tensors of its operands and results, each in the layout that the region requested.

    epilogue_operands: the operands `o0`, `o1`, ... of its epilogue, as the kernel reads them: [rows...,
        columns] for a matrix, [columns] for a column, [1] for a scalar.
    channels_last: whether the region's `Follow` layouts are channels-last.
    layouts: for each operand, all tensors that hold its value; regions of a body may read any of them.
    bodies: the bodies of a control-flow region.
    """

    region: Region[C_co]
    operands: tuple[TensorView, ...]
    epilogue_operands: tuple[TensorView, ...]
    results: tuple[TensorView, ...]
    channels_last: bool = False
    layouts: tuple[tuple[TensorView, ...], ...] = ()
    bodies: tuple[LaidOutBody, ...] = ()

    @property
    def config(self) -> C_co:
        return self.region.config

    @property
    def epilogue(self) -> Epilogue:
        """The epilogue of the kernel; one that stores the result unchanged if nothing is fused."""
        return Epilogue() if self.region.epilogue is None else self.region.epilogue.epilogue

    @property
    def name(self) -> str:
        """The name of the first result, for temporaries."""
        return next(iter(self.region.results)).name


@dataclass(frozen=True, slots=True)
class LayoutCopy:
    """A copy of a value from one layout to another.

    nodes: the names of the nodes that need the copy.
    """

    value: Value
    source: TensorView
    target: TensorView
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SizeWrite:
    """Elements that are computed from input sizes, written to a tensor."""

    value: Value
    sizes: Sequence[Known]
    target: TensorView
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LaidOutBody:
    """A body of control flow as regions with tensors, and copies, in order of execution.

    name: the name of the body, unique in its region.
    bound: the tensors of the values that the body reads, but does not compute.
    results: the tensors of the values that the lowering of the control-flow region requests.
    guards: the guards of the body's regions that are executed.
    """

    name: str
    graph: RegionGraph
    items: Sequence[LayoutItem]
    bound: Mapping[Value, Sequence[TensorView]]
    results: Sequence[TensorView]
    guards: Mapping[Guard, None]


LayoutItem: TypeAlias = "LaidOutRegion[object] | LayoutCopy | SizeWrite | CopyIn | BindSizes | FallbackOp"


@dataclass(frozen=True, slots=True)
class LaidOutGraph:
    """A graph as regions with tensors, and copies, in order of execution.

    inputs: the tensors of the graph's inputs.
    outputs: the tensor of each output, or None if a fallback computes it.
    constants: the constant tensors of the program.
    guards: the guards of the regions that are executed, each once; a deferred region that nothing reads is
        not executed.
    """

    graph: RegionGraph
    items: Sequence[LayoutItem]
    inputs: Mapping[Value, TensorView]
    outputs: Mapping[Value, TensorView | None]
    constants: ConstantPool
    guards: Mapping[Guard, None]

    @property
    def copies(self) -> list[LayoutCopy]:
        """The copies between layouts."""
        return [item for item in self.items if isinstance(item, LayoutCopy)]
