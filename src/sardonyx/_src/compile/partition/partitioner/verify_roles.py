"""Verifies the roles of epilogue operands: for each element of the result, a kernel reads the element that broadcasting gives.

The roles come from the epilogue that the kernel is generated from, the dims from the graph, and the column axis from
the layout of the result, so that errors of `operand_roles` are found.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import is_row_operand
from sardonyx._src.compile.partition import FusedEpilogue, Read, Region, Scope, Shape
from sardonyx._src.compile.partition.fusion.elementwise_operands import align_dims
from sardonyx._src.compile.partition.quantized.computed_integer_products import ComputedIntegerProduct
from sardonyx._src.compile.partition.quantized.integer_convolutions import IntegerConvolution
from sardonyx._src.compile.partition.quantized.integer_products import IntegerProduct
from sardonyx._src.compile.partition.regions.region import describe
from sardonyx._src.compile.program import TensorView
from sardonyx._src.compile.program.operands.layout import ChannelsLast, CustomLayout, Dense, DenseRows
from sardonyx._src.compile.program.verification.size_facts import SizeFacts
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import Known, dim_product


@dataclass(frozen=True, slots=True)
class RoleVerifier:
    """The verification of a region's epilogue.

    facts: answers whether sizes are equal, given the guards of the region.
    """

    scope: Scope
    region: Region[object]
    fused: FusedEpilogue
    facts: SizeFacts

    @property
    def where(self) -> str:
        """The region, for messages."""
        return describe(self.region)

    @property
    def roles(self) -> list[str]:
        """The role of each operand in the kernel, the kernel's own operands first."""
        epilogue = self.fused.epilogue
        layouts = enumerate(epilogue.operand_layouts)
        return ["row" if is_row_operand(epilogue, i) else layout for i, layout in layouts]

    @property
    def is_channels_last(self) -> bool:
        """Whether the columns of the kernel are the channels of its result."""
        (layout,) = (write.layout for write in self.region.writes if write.value is self.fused.result)
        layout = layout.otherwise if isinstance(layout, CustomLayout) else layout
        return isinstance(layout, ChannelsLast)

    # --- values ------------------------------------------------------------------------------

    def verify_values(self) -> None:
        """Each operand broadcasts to the dims of its role, and is read in a layout of that role."""
        result_shape, own = self.scope.known_shape(self.fused.result), len(self.roles) - len(self.fused.reads)
        self.verify_own_operands(self.roles[:own], result_shape)
        pairs = zip(self.fused.reads, self.fused.shapes, strict=True)
        for role, (read, shape) in zip(self.roles[own:], pairs, strict=True):
            name, expected = f"{self.where}: {read.value.name}", self.dims_of(role, result_shape)
            assert self.broadcasts(read.value, shape, result_shape), f"{name} does not broadcast as {shape}"
            assert self.facts.have_equal_dims(shape, expected), (
                f"{name} must broadcast as {expected}, a {role} of {result_shape}; got {shape}"
            )
            assert self.has_layout(read, role, result_shape), (
                f"{name}, a {role}, is read in the layout {read.layout}"
            )

    def verify_own_operands(self, roles: Sequence[str], result_shape: Shape) -> None:
        """The operands of an integer kernel itself: constants and the zero point have as many elements as their roles.

        The others are row sums and the operands of a computed product, which its lowering makes with the dims
        of the result.
        """
        config = self.region.config
        if not isinstance(config, IntegerProduct | IntegerConvolution | ComputedIntegerProduct):
            assert not roles, f"{self.where}: {len(roles)} operands of the epilogue are not read"
            return
        is_made = isinstance(config, ComputedIntegerProduct)
        point = None if isinstance(config, ComputedIntegerProduct) else config.zero
        zero = () if point is None else self.scope.known_shape(point)
        for i, (role, operand) in enumerate(zip(roles, config.result.operands, strict=True)):
            size: Known = dim_product(zero) if operand.elements is None else operand.elements.size
            expected = dim_product(self.dims_of(role, result_shape))
            is_free = operand.is_row or (is_made and operand.elements is None)
            assert is_free or self.facts.have_equal_dims((size,), (expected,)), (
                f"{self.where}: o{i} must have {expected} elements, as a {role} of {result_shape}; got {size}"
            )
            assert operand.is_row == (role == "row"), f"{self.where}: o{i} is read as a {role}"

    def dims_of(self, role: str, result_shape: Shape) -> Shape:
        """The dims to which an operand of a role broadcasts."""
        axis = 1 if self.is_channels_last else len(result_shape) - 1
        varies = {"scalar": (), "column": (axis,), "matrix": range(len(result_shape))}
        others = [i for i in range(len(result_shape)) if i != axis]
        return tuple(dim if i in varies.get(role, others) else 1 for i, dim in enumerate(result_shape))

    def broadcasts(self, value: Value, shape: Shape, result_shape: Shape) -> bool:
        """Whether a node of the region reads a value as broadcast to the dims `shape`.

        No node reads the constants of a folded node; they are aligned at their last dims.
        """
        dims, deferred = self.scope.known_shape(value), self.scope.deferred.keys()
        aligned = [
            align_dims(node, i, dims, result_shape)
            for node, i in value.uses
            if node in self.region.nodes or not deferred.isdisjoint(node.outputs)
        ]
        aligned = aligned or [(*(1 for _ in result_shape[len(dims) :]), *dims)]
        return any(other is not None and self.facts.have_equal_dims(other, shape) for other in aligned)

    def has_layout(self, read: Read, role: str, result_shape: Shape) -> bool:
        """Whether an operand of a role is read with its elements in the order of the result."""
        if role != "matrix":
            return isinstance(read.layout, Dense)
        if not self.is_channels_last:
            return isinstance(read.layout, Dense | DenseRows)
        rank = len(self.scope.known_shape(read.value))
        return isinstance(read.layout, ChannelsLast) and rank == len(result_shape)

    # --- tensors -----------------------------------------------------------------------------

    def verify_tensors(self, operands: Sequence[TensorView], result: TensorView) -> None:
        """The tensor of each operand has the elements of its role, in the order of those of the result."""
        vectors: dict[str, Shape] = {"scalar": (1,), "column": result.shape[-1:]}
        vectors["row"] = (*result.shape[:-1], 1)
        roles = self.roles[len(self.roles) - len(operands) :]
        for role, read, tensor in zip(roles, self.fused.reads, operands, strict=True):
            dims = vectors.get(role, result.shape)
            is_ordered = tensor.is_dense if role in vectors else tensor.row_stride is not None
            assert self.facts.have_equal_dims(tensor.shape, dims) and is_ordered, (
                f"{self.where}: {read.value.name}, a {role} of {result.shape}, must have dims {dims};"
                f" got {tensor.shape} with strides {tensor.strides}"
            )
