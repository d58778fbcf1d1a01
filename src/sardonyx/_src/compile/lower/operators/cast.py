"""Cast: elementwise; an upcast from half precision is deferred.

Consumers of a deferred upcast may read its half-precision operand instead, such as constant weights of a GEMM.
"""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.lower.operators.elementwise import (
    Elementwise,
    match_elementwise,
    match_single_node,
)
from sardonyx._src.compile.partition import Region, Scope, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.prepare.dequantized_constants import is_upcast
from sardonyx._src.schema import versions


@matches("Cast", versions("", "Cast")[-1])
def match_cast(op: BoundNode, scope: Scope) -> Region[Elementwise] | None:
    region = match_single_node(op, scope) if is_upcast(op.node) else None
    return match_elementwise(op, scope) if region is None else replace(region, is_deferred=True)
