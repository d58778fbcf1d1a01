"""StringSplit: each string cut into substrings, which lie along a new last axis.

Spec: ai.onnx StringSplit-20.  Without a delimiter a string is cut at runs of whitespace, and whitespace at its two ends
is dropped first, also where `maxsplit` leaves a rest uncut; whitespace is what `str.isspace` says.  The text has no
meaning for a negative `maxsplit`: it sets no limit, as runtimes read it.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.inference import Inference, Result

op = Operator("StringSplit")


@op.infer(20)
def infer(t: Inference) -> Result:
    shape = t.shape(0)
    if shape is None:
        return TensorType(DataType.STRING), TensorType(DataType.INT64)
    return TensorType(DataType.STRING, (*shape, longest(t, shape))), TensorType(DataType.INT64, shape)


def longest(t: Inference, shape: tuple[Dim, ...]) -> Dim:
    """The size of the new axis: 0 for no strings, 1 where nothing may be cut, else what the data decide."""
    if any(isinstance(d, int) and d == 0 for d in shape):
        return 0
    uncut = t.attributes.get("maxsplit") == 0 and t.attributes.get("delimiter")
    return 1 if uncut and all(isinstance(d, int) for d in shape) else t.new_dim()


@op.eval(20)
def eval_20(X: Array, *, maxsplit: int | None = None, delimiter: str = "", call: Call) -> tuple[Array, Array]:
    """X: strings; result: substrings [*X.shape, most], filled up with "", and their numbers, int64 of X's shape."""
    cut = partial(substrings, delimiter=delimiter, maxsplit=-1 if maxsplit is None else maxsplit)
    parts = list(map(cut, X.reshape(-1).tolist()))
    counts = np.array(list(map(len, parts)), np.int64)
    most = int(counts.max(initial=0))
    claim(call, (len(parts), most), np.dtype(object), "StringSplit result")
    result = np.full((len(parts), most), "", object)
    if parts:
        result[np.arange(most) < counts[:, None]] = [part for one in parts for part in one]
    return result.reshape(*X.shape, most), counts.reshape(X.shape)


def substrings(text: str, delimiter: str, maxsplit: int) -> list[str]:
    """The pieces of one string, after at most `maxsplit` cuts from the left (negative: any number)."""
    return text.split(delimiter, maxsplit) if delimiter else text.strip().split(None, maxsplit)
