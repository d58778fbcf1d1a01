"""And, Or, Xor, Not: logic on truth values.

Spec: ai.onnx And-1, -7; Or-1, -7; Xor-1, -7; Not-1.  Version 1 of the first three broadcasts only B, as `broadcast`
and `axis` say; 7 broadcasts both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.math.elementwise import define_unary
from sardonyx._src.ops.math.legacy_broadcast import infer_legacy_broadcast, wrap_legacy_broadcast
from sardonyx._src.ops.math.legacy_broadcast_steps import adapt_to_broadcast, make_legacy_adapter
from sardonyx._src.ops.math.symbolic import Rule, logic
from sardonyx._src.ops.support.shapes import infer_broadcast
from sardonyx._src.ops.traits import LegacyBroadcast


def define(op: Operator, ufunc: Callable[[Array, Array], Array], rule: Rule) -> None:
    """Gives `op` the facets of all versions; `ufunc` is for arrays, `rule` for two of True, False and None (unknown)."""

    def evaluate(A: Array, B: Array) -> Array:
        return ufunc(A, B)

    op.infer(1)(infer_legacy_broadcast(DataType.BOOL))
    op.infer(7)(infer_broadcast(DataType.BOOL))
    op.value(1, 7)(logic(rule))
    op.convert((1, 7))(adapt_to_broadcast)
    op.convert((7, 1))(make_legacy_adapter(op.name))
    op.eval(1)(wrap_legacy_broadcast(evaluate))
    op.eval(7)(evaluate)


def both(a: bool | None, b: bool | None) -> bool | None:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def either(a: bool | None, b: bool | None) -> bool | None:
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


def xor(a: bool | None, b: bool | None) -> bool | None:
    return None if a is None or b is None else a is not b


define(
    Operator(
        "And",
        elementwise=True,
        commutative=True,
        about="whether both elements are true.",
        legacy_broadcast=LegacyBroadcast("one_way", last_opset=6),
    ),
    np.logical_and,
    both,
)
define(
    Operator(
        "Or",
        elementwise=True,
        commutative=True,
        about="whether at least one of two elements is true.",
        legacy_broadcast=LegacyBroadcast("one_way", last_opset=6),
    ),
    np.logical_or,
    either,
)
define(
    Operator(
        "Xor",
        elementwise=True,
        commutative=True,
        about="whether exactly one of two elements is true.",
        legacy_broadcast=LegacyBroadcast("one_way", last_opset=6),
    ),
    np.logical_xor,
    xor,
)

not_ = Operator("Not", elementwise=True, about="true for false and false for true.")
define_unary(not_, (1,), np.logical_not)
not_.value(1)(logic(lambda a: None if a is None else not a))
