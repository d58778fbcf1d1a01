"""Gradient of MaxPool, in the nodes that `sx.gradient` writes for it.

`Reshape(ScatterElements(zeros, Reshape(Indices), Reshape(dy)))` adds the output gradient dy at the Indices of a
MaxPool.  One kernel replaces these nodes; it finds the maxima again instead of reading indices.
"""

from __future__ import annotations

from sardonyx._src.compile.partition import BoundNode, Read, Region, Scope, Shape, Write, fuses
from sardonyx._src.compile.partition.operands.window_geometry import image_window
from sardonyx._src.compile.program import CHANNELS_LAST, DENSE, Window
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value


@dataclass(frozen=True, slots=True)
class MaxPoolGradient:
    """The window of a MaxPool.

    flat_shape: the dims of its result, if the region reads the output gradient as a flat list; None if as an image.
    """

    window: Window
    flat_shape: Shape | None


@fuses("MaxPool", 22)
def match_max_pool_gradient(op: BoundNode, scope: Scope) -> Region[MaxPoolGradient] | None:
    x, kernel = op.input(0), op.ints("kernel_shape")
    if x is None or kernel is None or not op.is_output_used(1) or op.is_output_used(0):
        return None
    nodes = scattering_nodes(op.node.outputs[1], scope)
    if nodes is None or scope.dtype_of(x) is not DataType.FLOAT or not scope.is_native(x):
        return None
    shape, pooled, result = scope.known_shape(x), scope.shape(op.output), nodes[-1].outputs[0]
    updates = nodes[1].inputs[2]
    if pooled is None or updates is None or scope.shape(result) != shape or len(shape) not in (3, 4):
        return None
    window = image_window(op, shape[2:], kernel)
    if window is None or op.attribute("storage_order", int) or scope.shape(updates) is None:
        return None
    gradient = image_of(scope, updates, pooled)
    config = MaxPoolGradient(window, None if gradient is not None else pooled)
    read = Read(updates, DENSE) if gradient is None else Read(gradient, CHANNELS_LAST)
    writes = (Write(result, CHANNELS_LAST),)
    reads = (Read(x, CHANNELS_LAST), read)
    return Region("MaxPoolGradient", (op.node, *nodes), config, reads, writes, last=nodes[-1])


def scattering_nodes(indices: Value, scope: Scope) -> tuple[Node, Node, Node] | None:
    """Reshape, ScatterElements and Reshape that add gradients to zeros at indices; None if another node reads one of their results."""
    flat = scope.sole_consumer(indices)
    scatter = None if flat is None or flat.op_type != "Reshape" else scope.sole_consumer(flat.outputs[0])
    if flat is None or scatter is None or (scatter.op_type, scatter.domain) != ("ScatterElements", ""):
        return None
    bound, last = scope.bind_node(scatter), scope.sole_consumer(scatter.outputs[0])
    if (
        bound is None
        or last is None
        or last.op_type != "Reshape"
        or bound.attributes.get("reduction") not in (b"add", "add")
    ):
        return None
    zeros = scope.constant(scatter.inputs[0])
    adds_to_zeros = zeros is not None and zeros.ndim == 1 and not zeros.any()
    return (flat, scatter, last) if scatter.inputs[1] is flat.outputs[0] and adds_to_zeros else None


def image_of(scope: Scope, updates: Value, shape: Shape) -> Value | None:
    """The tensor of dims `shape` that a Reshape flattened to `updates`; None if there is none."""
    node = updates.producer
    if node is None or (node.op_type, node.domain) != ("Reshape", ""):
        return None
    source = node.inputs[0]
    return source if source is not None and scope.shape(source) == shape else None
