"""LabelEncoder of numbers: a search among sorted keys.  Falls back to the reference kernel for strings, and types below 32 bits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.compile.kernels.selection.key_search import SEARCHED, KeyTable, key_search_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import Step
from sardonyx._src.ops.ml.label_encoder import default_of_table, table_of
from sardonyx._src.ops.ml.lookup import bits


@matches("LabelEncoder", 2, 4, domain="ai.onnx.ml")
def match_label_encoder(op: BoundNode, scope: Scope) -> Region[KeyTable] | None:
    x = op.input(0)
    if x is None or not scope.is_native(x) or scope.shape(op.output) != scope.shape(x):
        return None
    if scope.dtype(x) not in SEARCHED or scope.dtype_of(op.output) not in SEARCHED:
        return None
    table = key_table(op.attributes, is_bitwise=op.version == 2)
    if not len(table.codes):
        return None
    return Region("LabelEncoder", (op.node,), table, (Read(x),), (Write(op.output),))


def key_table(attributes: Mapping[str, object], *, is_bitwise: bool) -> KeyTable:
    """The sorted distinct keys and their values.  Of equal keys, the first counts in version 2, the last in later versions."""
    keys, values = table_of(attributes, "keys"), table_of(attributes, "values")
    codes = keys if keys.dtype.kind == "i" else bits(keys, is_bitwise)
    order = slice(None, None, 1 if is_bitwise else -1)
    distinct, first = np.unique(codes[order], return_index=True)
    default = np.asarray([default_of_table(attributes, values)], values.dtype)
    return KeyTable(distinct, np.concatenate([values[order][first], default]), is_bitwise)


@lowers("LabelEncoder")
def lower_label_encoder(region: LaidOutRegion[KeyTable], lowering: Lowering) -> Step:
    return key_search_step(region.operands[0], region.results[0], region.config)
