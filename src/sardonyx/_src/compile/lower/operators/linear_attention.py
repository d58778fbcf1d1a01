"""LinearAttention in float32: a kernel that keeps the state of a head in place.

`prepare` decomposes other element types.  Falls back to the reference kernel for heads of unknown sizes.
"""

from __future__ import annotations

import math

from sardonyx._src.compile.kernels.attention.linear_attention import (
    LinearAttentionOperands,
    linear_attention_step,
)
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Shape, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import DENSE, Step
from sardonyx._src.compile.program.operands.layout import UnitStride
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value
from sardonyx._src.ops.nn.linear_attention import UPDATE_RULES

OPTIONAL = ("past", "decay", "beta")


@dataclass(frozen=True, slots=True)
class LinearAttention:
    """The parameters of a linear attention.

    given: the optional inputs (`OPTIONAL`) that the region reads after q, k and v.
    state: the dims of the state, [batch, heads, key size, value size].
    heads: the number of key-value heads.
    group: the query heads for each key-value head.
    """

    given: tuple[str, ...]
    state: Shape
    heads: int
    group: int
    scale: float


@matches("LinearAttention", 27)
def match_linear_attention(op: BoundNode, scope: Scope) -> Region[LinearAttention] | None:
    q, k, v = (op.input(i) for i in range(3))
    q_heads, heads = op.attribute("q_num_heads", int), op.attribute("kv_num_heads", int)
    rule = op.attribute("update_rule", str)
    used = {  # the inputs that the computation reads: others may be given, but the update rule has no use for them
        "past": op.input(3) is not None,
        "decay": rule.startswith("gated"),
        "beta": rule.endswith("delta"),
    }
    optional = {name: op.input(i) for i, name in enumerate(OPTIONAL, 3) if used[name]}
    given = {name: value for name, value in optional.items() if value is not None}
    if q is None or k is None or v is None or rule not in UPDATE_RULES or len(given) < sum(used.values()):
        return None
    if not all(map(scope.is_native, (q, k, v, *given.values()))):
        return None
    if not all(scope.dtype_of(value) is DataType.FLOAT for value in (q, k, v, *given.values())):
        return None
    sizes = [head_size(scope, value, count) for value, count in ((q, q_heads), (k, heads), (v, heads))]
    if heads < 1 or q_heads % heads or None in sizes or sizes[0] != sizes[1] or not sizes[1]:
        return None
    if not has_factors(scope, given, heads, sizes[1]):
        return None
    state = (scope.known_shape(q)[0], heads, sizes[1], sizes[2] or 0)
    scale = op.attribute("scale", float) or 1 / math.sqrt(sizes[1])  # 0 is the default
    config = LinearAttention(tuple(given), state, heads, q_heads // heads, scale)
    rows = UnitStride(-1, DENSE)
    reads = [Read(value, DENSE if name == "past" else rows) for name, value in given.items()]
    writes = [Write(value) for i, value in enumerate(op.node.outputs) if i == 0 or op.is_output_used(i)]
    return Region(
        "LinearAttention",
        (op.node,),
        config,
        (Read(q, rows), Read(k, rows), Read(v, rows), *reads),
        tuple(writes),
    )


def head_size(scope: Scope, value: Value, heads: int) -> int | None:
    """The size of a head in rows of `heads` heads; None if it is not known."""
    shape = scope.known_shape(value)
    width = shape[-1] if len(shape) == 3 else None
    return width // heads if isinstance(width, int) and heads > 0 and width % heads == 0 else None


def has_factors(scope: Scope, given: dict[str, Value], heads: int, d_k: int) -> bool:
    """Whether decay and beta have an element for each head, or the other width that the operator allows."""
    widths = {"decay": (heads, heads * d_k), "beta": (heads, 1)}
    shapes = [(scope.known_shape(given[name]), sizes) for name, sizes in widths.items() if name in given]
    return all(len(shape) == 3 and shape[2] in sizes for shape, sizes in shapes)


@lowers("LinearAttention")
def lower_linear_attention(region: LaidOutRegion[LinearAttention], lowering: Lowering) -> Step:
    config, (q, k, v, *rest), (y, *present) = region.config, region.operands, region.results
    state = (
        present[0] if present else lowering.temporary(DataType.FLOAT, config.state, f"{region.name}.state")
    )
    operands = LinearAttentionOperands(q, k, v, **dict(zip(config.given, rest, strict=True)))
    return linear_attention_step(
        operands, y, state, heads=config.heads, group=config.group, scale=config.scale
    )
