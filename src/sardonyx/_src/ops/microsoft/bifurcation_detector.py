"""BifurcationDetector of com.microsoft, for decoding that copies the source as long as predictions agree with it.

Spec: com.microsoft BifurcationDetector-1, as onnxruntime computes it.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.microsoft.text import DOMAIN

op = Operator("BifurcationDetector", DOMAIN, about="predicted tokens up to the first that leaves the source")
NO_MATCH = -1


@op.infer(1)
def infer(inference: Inference) -> Result:
    return [
        TensorType(DataType.INT64, (inference.new_dim(),)),
        TensorType(DataType.INT64, inference.shape(2)),
    ]


@op.eval(1)
def evaluate(
    src_tokens: Array,
    cur_tokens: Array,
    prev_suffix_match_idx: Array,
    pred_tokens: Array | None = None,
    *,
    min_ngram_size: int,
    max_ngram_size: int,
) -> tuple[Array, Array]:
    """src_tokens, cur_tokens, pred_tokens: [s], [c], [s + 1 - place]; results: tokens, and the place after their last
    n-gram in the source, -1 unless it occurs there once.
    """
    tokens = cur_tokens
    if pred_tokens is not None:
        place = int(prev_suffix_match_idx.reshape(()))
        if not 0 <= place <= len(src_tokens) or len(pred_tokens) != len(src_tokens) + 1 - place:
            raise EvaluationError(
                f"pred_tokens must have {len(src_tokens) + 1 - place} tokens; got {len(pred_tokens)}"
            )
        differs = np.flatnonzero(pred_tokens[:-1] != src_tokens[place:])
        count = int(differs[0]) if len(differs) else len(src_tokens) - place
        tokens = np.concatenate((cur_tokens, pred_tokens[: count + 1]))
    match = find_suffix(src_tokens, tokens, min_ngram_size, max_ngram_size)
    return tokens, np.full(prev_suffix_match_idx.shape, match, np.int64)


def find_suffix(source: Array, tokens: Array, least: int, most: int) -> int:
    """The place in the source after the one occurrence of the last n tokens, for the first n from `least` to `most` for
    which there is one; -1 if there is no such n.
    """
    match = NO_MATCH
    for size in range(least, most + 1):
        if size > len(tokens):
            break
        starts = range(len(source) - size + 1)
        places = [i for i in starts if np.array_equal(source[i : i + size], tokens[-size:])]
        if not places:
            break
        if len(places) == 1:
            match = places[0] + size
            break
    return match
