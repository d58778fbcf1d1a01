"""Gradient of a grouped convolution by its weights, in the nodes that `sx.gradient` writes for it.

They are `Slice(Transpose(Conv(Reshape(Transpose(Reshape(x))), Transpose(dy))))`, where x [N, group * C, *size]
becomes [C, group * N, *size].  There is a Slice only if strides leave pixels at the end that no window reads.
"""

from __future__ import annotations

from sardonyx._src.compile.partition import BoundNode, Read, Region, Scope, Write, fuses
from sardonyx._src.compile.partition.operands.float_convolutions import is_native_float
from sardonyx._src.compile.partition.patterns.conv_weight_gradient import (
    MAX_TAPS,
    ConvWeightGradient,
    exchanged,
    forward_window,
    gradient_nodes,
)
from sardonyx._src.compile.program import CHANNELS_LAST
from sardonyx._src.ir import Node


@fuses("Reshape", 25)
def match_grouped_weight_gradient(op: BoundNode, scope: Scope) -> Region[ConvWeightGradient] | None:
    x, moves = op.input(0), moving_nodes(op, scope)
    conv = scope.sole_consumer(moves[-1].outputs[0]) if moves else None
    bound = None if conv is None or (conv.op_type, conv.domain) != ("Conv", "") else scope.bind_node(conv)
    if x is None or conv is None or bound is None or bound.input(0) is not moves[-1].outputs[0]:
        return None
    dy, nodes, groups = (
        exchanged(scope, bound.input(1)),
        gradient_nodes(bound, scope),
        bound.attribute("group", int),
    )
    if dy is None or bound.input(2) is not None or not nodes or not groups_images(op, moves, groups, scope):
        return None
    shape = scope.shape(nodes[-1].outputs[0])
    window = None if shape is None else forward_window(bound, shape[2:])
    if shape is None or window is None or not (is_native_float(scope, x) and is_native_float(scope, dy)):
        return None
    columns, channels = shape[:2]
    if not isinstance(columns, int) or not isinstance(channels, int) or min(columns, channels) <= 0:
        return None
    if window.kernel[0] * window.kernel[1] > MAX_TAPS:
        return None
    config = ConvWeightGradient(window, (columns, channels, *window.kernel), groups)
    reads = (Read(x, CHANNELS_LAST), Read(dy, CHANNELS_LAST))
    claimed = (op.node, *moves, conv, *nodes)
    writes = (Write(nodes[-1].outputs[0]),)
    return Region("ConvWeightGradient", claimed, config, reads, writes, last=nodes[-1])


def moving_nodes(op: BoundNode, scope: Scope) -> tuple[Node, ...]:
    """The Transpose and the Reshape after the Reshape that splits the channels into groups; empty if others follow."""
    transposition = scope.sole_consumer(op.output)
    if transposition is None or (transposition.op_type, transposition.domain) != ("Transpose", ""):
        return ()
    bound = scope.bind_node(transposition)
    perm = None if bound is None else bound.ints("perm")
    merged = scope.sole_consumer(transposition.outputs[0])
    if perm is None or perm != (2, 1, 0, *range(3, len(perm))):
        return ()
    if merged is None or (merged.op_type, merged.domain) != ("Reshape", ""):
        return ()
    return (transposition, merged) if merged.inputs[0] is transposition.outputs[0] else ()


def groups_images(op: BoundNode, moves: tuple[Node, ...], groups: int, scope: Scope) -> bool:
    """Whether the shapes are those of x [N, group * C, *size] as [N, group, C, *size], and then as [C, group * N, *size]."""
    x = op.input(0)
    source = None if x is None else scope.shape(x)
    split, merged = scope.shape(op.output), scope.shape(moves[-1].outputs[0])
    if source is None or split is None or merged is None or len(source) < 3:
        return False
    channels, count = source[1], split[2]
    if not isinstance(channels, int) or not isinstance(count, int) or channels != groups * count:
        return False
    return split == (source[0], groups, count, *source[2:]) and merged == (
        count,
        source[0] * groups,
        *source[2:],
    )
