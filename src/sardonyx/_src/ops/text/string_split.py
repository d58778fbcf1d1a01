"""StringSplit: splits each string into substrings along a new last axis.

Spec: ai.onnx StringSplit-20.  Without a delimiter a string is split at runs of whitespace, as defined by `str.isspace`, after
both ends have been stripped; this also strips the end of a remainder that `maxsplit` leaves.  The specification does not
define a negative `maxsplit`; as in other runtimes, it means no limit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.text.padded_rows import pad_rows

op = Operator("StringSplit")


@op.infer(20)
def infer(inference: Inference) -> Result:
    shape = inference.shape(0)
    if shape is None:
        return TensorType(DataType.STRING), TensorType(DataType.INT64)
    return TensorType(DataType.STRING, (*shape, parts_dim(inference, shape))), TensorType(
        DataType.INT64, shape
    )


def parts_dim(inference: Inference, shape: tuple[Dim, ...]) -> Dim:
    """The size of the new axis: 0 for no strings, 1 for a `maxsplit` of 0 with a delimiter, otherwise data-dependent."""
    if any(isinstance(d, int) and d == 0 for d in shape):
        return 0
    uncut = inference.attributes.get("maxsplit") == 0 and inference.attributes.get("delimiter")
    return 1 if uncut and all(isinstance(d, int) for d in shape) else inference.new_dim()


@op.eval(20)
def eval_20(
    X: Array, *, maxsplit: int | None = None, delimiter: str = "", context: RunContext
) -> tuple[Array, Array]:
    """X: strings.

    Results: the substrings, [*X.shape, max_parts] padded with "", and how many each string has, int64 of X's shape.
    """
    limit = -1 if maxsplit is None else maxsplit
    parts = split_texts(X.reshape(-1).tolist(), delimiter, limit)
    counts = np.fromiter(map(len, parts), np.int64, len(parts))
    max_parts = int(counts.max(initial=0))
    check_result_bytes(context, (len(parts), max_parts), np.dtype(object), "StringSplit result")
    return pad_rows(parts, max_parts, "").reshape(*X.shape, max_parts), counts.reshape(X.shape)


def split_texts(texts: Sequence[str], delimiter: str, maxsplit: int) -> list[list[str]]:
    """The substrings of each string after at most `maxsplit` splits from the left (negative: no limit)."""
    if delimiter:
        return [text.split(delimiter, maxsplit) for text in texts]
    return [text.strip().split(None, maxsplit) for text in texts]
