"""Gradient of a convolution by its weights, in the nodes that `sx.gradient` writes for it.

They are `Slice(Transpose(Conv(Transpose(x), Transpose(dy))))`, where dy is the gradient of the output and the
transpositions exchange batch and channels.  There is a Slice only if strides leave pixels at the end that no window
reads.
"""

from __future__ import annotations

from sardonyx._src.compile.partition import BoundNode, Read, Region, Scope, Write, fuses
from sardonyx._src.compile.partition.operands.float_convolutions import is_native_float
from sardonyx._src.compile.program import CHANNELS_LAST
from sardonyx._src.compile.program.operands.window import Window, window_of_attributes
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Node, Value

MAX_TAPS = 1024  # window positions: the kernel has a row of sums for each in scratch


@dataclass(frozen=True, slots=True)
class ConvWeightGradient:
    """The window of the convolution in the forward pass.

    dims: the dims of the weights, [M, C / groups, height, width].
    """

    window: Window
    dims: tuple[int, ...]
    groups: int = 1


@fuses("Conv", 22)
def match_conv_weight_gradient(op: BoundNode, scope: Scope) -> Region[ConvWeightGradient] | None:
    x, dy = (exchanged(scope, op.input(i)) for i in (0, 1))
    nodes = gradient_nodes(op, scope)
    if x is None or dy is None or op.input(2) is not None or op.attribute("group", int) != 1 or not nodes:
        return None
    shape = scope.shape(nodes[-1].outputs[0])
    window = None if shape is None else forward_window(op, shape[2:])
    if shape is None or window is None or not (is_native_float(scope, x) and is_native_float(scope, dy)):
        return None
    dims = tuple(dim for dim in shape[:2] if isinstance(dim, int) and dim > 0)
    height, width = window.kernel
    if len(dims) < 2 or height * width > MAX_TAPS:
        return None
    config = ConvWeightGradient(window, (dims[0], dims[1], height, width))
    reads = (Read(x, CHANNELS_LAST), Read(dy, CHANNELS_LAST))
    return Region("ConvWeightGradient", (op.node, *nodes), config, reads, (Write(nodes[-1].outputs[0]),))


def exchanged(scope: Scope, value: Value | None) -> Value | None:
    """The input of the Transpose that computes a value by exchanging batch and channels; None for any other value."""
    node = None if value is None else value.producer
    return node.inputs[0] if node is not None and exchanges_leading_dims(scope, node) else None


def exchanges_leading_dims(scope: Scope, node: Node) -> bool:
    bound = scope.bind_node(node) if (node.op_type, node.domain) == ("Transpose", "") else None
    perm = None if bound is None else bound.ints("perm")
    return perm is not None and perm == (1, 0, *range(2, len(perm)))


def gradient_nodes(op: BoundNode, scope: Scope) -> tuple[Node, ...]:
    """The Transpose after the Conv, and a Slice after that; empty if there is no such Transpose."""
    transposition = scope.sole_consumer(op.output)
    if transposition is None or not exchanges_leading_dims(scope, transposition):
        return ()
    crop = scope.sole_consumer(transposition.outputs[0])
    return (transposition, crop) if crop is not None and is_crop(scope, crop) else (transposition,)


def is_crop(scope: Scope, node: Node) -> bool:
    """Whether a node is a Slice that keeps the leading part of a tensor."""
    if (node.op_type, node.domain) != ("Slice", "") or scope.shape(node.outputs[0]) is None:
        return False
    starts, steps = scope.elements(node.inputs[1]), node.inputs[4] if len(node.inputs) > 4 else None
    is_dense = steps is None or ((elements := scope.elements(steps)) is not None and (elements == 1).all())
    return starts is not None and bool((starts == 0).all()) and bool(is_dense)


def forward_window(op: BoundNode, kernel: tuple[object, ...]) -> Window | None:
    """The window in the forward pass; its strides are the dilations of the gradient's Conv.  None for more than two dims."""
    sizes = tuple(size for size in kernel if isinstance(size, int) and size > 0)
    rank = len(kernel)
    ones, zeros = (1,) * rank, (0,) * (2 * rank)
    strides, dilations = op.ints("dilations") or ones, op.ints("strides") or ones
    pads = op.ints("pads") or zeros
    if (
        rank not in (1, 2)
        or len(sizes) < rank
        or op.attributes.get("auto_pad", "NOTSET") not in ("NOTSET", "")
    ):
        return None
    if min(pads) < 0:
        return None
    return window_of_attributes(sizes, strides, dilations, pads).as_image()
