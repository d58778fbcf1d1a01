"""RotaryEmbedding in float32 over heads as strided views.  If there are positions, the kernel uses them as indices of the caches.

Falls back to the reference kernel for caches whose dims do not match the tokens or positions, and for a dynamic head size.
"""

from __future__ import annotations

from sardonyx._src.compile.kernels.attention.rotary_embedding import rotary_embedding_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Shape, Write, matches
from sardonyx._src.compile.partition.operands.attention_operands import Heads, as_heads, match_heads
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import DENSE, Step
from sardonyx._src.compile.program.operands.layout import UnitStride
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value


@dataclass(frozen=True, slots=True)
class Rotary:
    """The parameters of a region that reads the heads, both caches, and positions if there are any.

    shape: the dims [B, H, S, D] of the heads.
    """

    shape: Shape
    interleaved: bool


@matches("RotaryEmbedding", 23)
def match_rotary_embedding(op: BoundNode, scope: Scope) -> Region[Rotary] | None:
    value, cos, sin, positions = (op.input(i) for i in range(4))
    if value is None or cos is None or sin is None or not are_native(scope, value, cos, sin):
        return None
    if positions is not None and not (
        scope.is_native(positions) and scope.dtype_of(positions) is DataType.INT64
    ):
        return None
    x = match_heads(scope, value, op.attributes.get("num_heads"))
    if (
        x is None
        or scope.shape(op.output) != scope.shape(value)
        or not are_matching_caches(op, scope, x, (cos, sin), positions)
    ):
        return None
    rows = UnitStride(-1, DENSE)
    reads = [x.read, Read(cos, rows), Read(sin, rows)]
    if positions is not None:
        reads.append(Read(positions))
    config = Rotary(x.shape, bool(op.attribute("interleaved", int)))
    return Region("RotaryEmbedding", (op.node,), config, tuple(reads), (Write(op.output),))


def are_native(scope: Scope, *values: Value) -> bool:
    return all(scope.is_native(value) and scope.dtype_of(value) is DataType.FLOAT for value in values)


def are_matching_caches(
    op: BoundNode, scope: Scope, x: Heads, caches: tuple[Value, Value], positions: Value | None
) -> bool:
    """Whether the caches have an angle per pair of elements, and positions are [batch, tokens]; guarded."""
    tokens, size = (x.shape[0], x.shape[2]), x.shape[3]
    rotated_size = op.attribute("rotary_embedding_dim", int) or size
    if not isinstance(rotated_size, int) or not isinstance(size, int):
        return False
    if rotated_size % 2 or not 0 <= rotated_size <= size:
        return False
    for cache in caches:
        shape = scope.known_shape(cache)
        count = scope.known_shape(caches[0])[:1] if positions is not None else tokens
        expected = (*count, rotated_size // 2)
        if len(shape) != len(expected) or not all(map(scope.guard_equal, shape, expected)):
            return False
    dims = () if positions is None else scope.known_shape(positions)
    return positions is None or (len(dims) == 2 and all(map(scope.guard_equal, dims, tokens)))


@lowers("RotaryEmbedding")
def lower_rotary_embedding(region: LaidOutRegion[Rotary], lowering: Lowering) -> Step:
    (x, cos, sin, *positions), config = region.operands, region.config
    return rotary_embedding_step(
        as_heads(x, config.shape),
        as_heads(region.results[0], config.shape),
        cos,
        sin,
        interleaved=config.interleaved,
        positions=positions[0] if positions else None,
        status=lowering.status,
    )
