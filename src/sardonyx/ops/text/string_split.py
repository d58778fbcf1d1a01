"""StringSplit: strings cut at a delimiter, the pieces along a new last axis.

Spec: ai.onnx StringSplit-20.  A delimiter that is met k times leaves k + 1 pieces, of which some may be empty.  Without
one, runs of white space (as str.split knows it) delimit, after that at both ends is taken away.
"""

from __future__ import annotations

import numpy as np

from sardonyx.dtypes import DataType
from sardonyx.ir.tensors import Array
from sardonyx.ir.types import TensorType
from sardonyx.ops.api import Call, Operator, claim
from sardonyx.ops.inference import Inference, Result

op = Operator("StringSplit")


@op.infer(20)
def infer(t: Inference) -> Result:
    shape = t.shape(0)
    pieces = None if shape is None else (*shape, t.new_dim())
    return [TensorType(DataType.STRING, pieces), TensorType(DataType.INT64, shape)]


@op.eval(20)
def evaluate(X: Array, *, delimiter: str = "", maxsplit: int = -1, call: Call) -> tuple[Array, Array]:
    """X: strings; results: the pieces, [*X, most pieces], filled up with empty strings, and their numbers, [*X] int64.

    A negative maxsplit is no limit.
    """
    if delimiter:
        pieces = [text.split(delimiter, maxsplit) for text in X.reshape(-1).tolist()]
    else:
        pieces = [text.strip().split(None, maxsplit) for text in X.reshape(-1).tolist()]
    most = max(map(len, pieces), default=0)
    claim(call, (*X.shape, most), np.dtype(object), "StringSplit result")
    result: Array = np.full((len(pieces), most), "", object)
    for row, found in zip(result, pieces, strict=True):
        row[: len(found)] = found
    counts = np.array([len(found) for found in pieces], np.int64)
    return result.reshape(*X.shape, most), counts.reshape(X.shape)
