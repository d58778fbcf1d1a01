"""BifurcationDetector of com.microsoft: accepts the tokens of a source as predictions, as far as a model agrees with them.

Spec: com.microsoft BifurcationDetector-1, as onnxruntime computes it.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
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
    """The current tokens with the accepted predictions; and the position in the source after their last n-gram.

    src_tokens: [s], the source; cur_tokens: [c]; prev_suffix_match_idx: one element, the position in the source where the
    predictions begin; pred_tokens: [s + 1 - position].
    The second result is -1 unless the last n-gram occurs once in the source.
    """
    tokens = cur_tokens
    if pred_tokens is not None:
        start = int(prev_suffix_match_idx.reshape(()))
        if not 0 <= start <= len(src_tokens) or len(pred_tokens) != len(src_tokens) + 1 - start:
            raise EvaluationError(
                f"pred_tokens must have {len(src_tokens) + 1 - start} tokens; got {len(pred_tokens)}"
            )
        differs = np.flatnonzero(pred_tokens[:-1] != src_tokens[start:])
        count = int(differs[0]) if len(differs) else len(src_tokens) - start
        tokens = np.concatenate((cur_tokens, pred_tokens[: count + 1]))
    match = find_suffix(src_tokens, tokens, min_ngram_size, max_ngram_size)
    return tokens, np.full(prev_suffix_match_idx.shape, match, np.int64)


def find_suffix(source: Array, tokens: Array, least: int, most: int) -> int:
    """The position in the source after the only occurrence of the last n tokens.

    n is the smallest number from `least` to `most` for which there is one occurrence; the result is -1 if there is none.
    """
    match = NO_MATCH
    for size in range(least, most + 1):
        if size > len(tokens):
            break
        starts = range(len(source) - size + 1)
        occurrences = [i for i in starts if np.array_equal(source[i : i + size], tokens[-size:])]
        if not occurrences:
            break
        if len(occurrences) == 1:
            match = occurrences[0] + size
            break
    return match
