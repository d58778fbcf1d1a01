"""Elementwise operators: a node and the elementwise consumers that fuse with it become one kernel.

The kernel works channels-last if one of its operands is held so.  Falls back to the reference kernel for element
types that native code has no representation of.
"""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.codegen.element_types import STORED_ELEMENTS
from sardonyx._src.compile.codegen.expressions import Scalar
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.elementwise.operators import SCALAR_OPERATORS
from sardonyx._src.compile.kernels.tuning import ElementwiseTuning
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.lower.operators.integer_division import CheckedIntegers, match_integers
from sardonyx._src.compile.partition import Read, Region, Scope, Shape, Write
from sardonyx._src.compile.partition.fusion.fusion import fuse_from, group_single_node
from sardonyx._src.compile.partition.fusion.fusion_group import FusionGroup
from sardonyx._src.compile.partition.regions.registry import matches_newest
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import ANY, Step, TensorView
from sardonyx._src.compile.program.operands.layout import FOLLOW, ROWS
from sardonyx._src.compile.program.operands.tensor import channels_last_permutation
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import Known, dim_min

FOLLOW_ROWS = replace(FOLLOW, otherwise=ROWS)


@dataclass(frozen=True, slots=True)
class Elementwise:
    """The parameters of an elementwise kernel.

    expressions: for each result, an expression of the operands `i0`, `i1`, ...
    shape: the dims of all results.
    operand_shapes: the dims of each operand, padded to the rank of the results.
    """

    expressions: tuple[Scalar, ...]
    shape: Shape
    operand_shapes: tuple[Shape, ...]


def match_elementwise(op: BoundNode, scope: Scope) -> Region[Elementwise] | None:
    group = fuse_from(scope, op.node)
    return None if group is None else elementwise_region(scope, group)


def match_arithmetic(op: BoundNode, scope: Scope) -> Region[Elementwise] | Region[CheckedIntegers] | None:
    return match_elementwise(op, scope) or match_integers(op, scope)


for name in SCALAR_OPERATORS.keys() - {"Cast", "Identity", "DequantizeLinear"}:
    is_checked = name in ("Div", "Mod", "Pow")
    matches_newest(name)(match_arithmetic if is_checked else match_elementwise)


def match_single_node(op: BoundNode, scope: Scope) -> Region[Elementwise] | None:
    """The region of a single elementwise node; None for other nodes."""
    group = group_single_node(scope, op.node)
    return None if group is None else elementwise_region(scope, group)


def elementwise_region(scope: Scope, group: FusionGroup) -> Region[Elementwise] | None:
    """The region of a fusion group; None if an element type has no native representation."""
    if any(scope.dtype_of(value) not in STORED_ELEMENTS for value in (*group.results, *group.operands)):
        return None
    operands = zip(group.operands, group.shapes, strict=True)
    return Region(
        "Elementwise",
        tuple(group.nodes),
        Elementwise(group.values, group.shape, tuple(group.shapes)),
        tuple(read_operand(scope, value, shape, group) for value, shape in operands),
        tuple(Write(result, FOLLOW) for result in group.results),
    )


def read_operand(scope: Scope, value: Value, shape: Shape, group: FusionGroup) -> Read:
    """An operand; in the layout of the results if it has their dims, of which some may turn out to be 1 at run time."""
    dims = scope.known_shape(value)
    if shape == group.shape and len(dims) == len(shape):
        layout = FOLLOW if dims == shape and not is_repeated(value) else replace(FOLLOW, otherwise=ANY)
        if has_long_rows(dims) and layout is FOLLOW:
            layout = FOLLOW_ROWS
        return Read(value, layout, decides_layout=len(shape) > 2)
    return Read(value, ANY)


def has_long_rows(dims: Shape) -> bool:
    """Whether the rows of a matrix are so long that a kernel may read rows of a slice, with a longer stride, without a copy."""
    return len(dims) == 2 and isinstance(dims[1], int) and dims[1] >= ElementwiseTuning.min_row_elements


def is_repeated(value: Value) -> bool:
    """Whether a value is the result of an Expand: an alias with repeated elements, which the kernel reads by broadcasting."""
    return value.producer is not None and (value.producer.domain, value.producer.op_type) == ("", "Expand")


@lowers("Elementwise")
def lower_elementwise(region: LaidOutRegion[Elementwise], lowering: Lowering) -> Step:
    config = region.config
    operands = [
        align_operand(tensor, shape, read, region)
        for tensor, shape, read in zip(
            region.operands, config.operand_shapes, region.region.reads, strict=True
        )
    ]
    return elementwise_step(config.expressions, operands, region.results)


def align_operand(
    tensor: TensorView, shape: Shape, read: Read, region: LaidOutRegion[Elementwise]
) -> TensorView:
    """An operand with the rank and the order of dims of the result."""
    order = channels_last_permutation(len(shape))
    if region.channels_last and read.decides_layout:
        return with_unit_dims(tensor, tuple(shape[i] for i in order))
    aligned = with_unit_dims(tensor, shape)
    return aligned.permute(order) if region.channels_last else aligned


def with_unit_dims(tensor: TensorView, shape: Shape) -> TensorView:
    """A view with unit dims inserted or removed, so that its dims broadcast to `shape`.

    The stride of a dim that may be 1 at run time is an expression that is 0 in that case.
    """
    dims = iter([(d, s) for d, s in zip(tensor.shape, tensor.strides, strict=True) if d != 1])
    strides: list[Known] = []
    for dim in shape:
        size, stride = (1, 0) if dim == 1 else next(dims)
        strides.append(stride if size in (1, dim) else stride * dim_min(1, size - 1))
    return replace(tensor, shape=shape, strides=tuple(strides))
