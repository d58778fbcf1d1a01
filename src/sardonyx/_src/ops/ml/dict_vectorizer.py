"""DictVectorizer: the values of a map, each at the index of its key in a vocabulary.

Spec: ai.onnx.ml DictVectorizer-1.  The specification calls the result 1-D; here it is one row, [1, C], as in every known
runtime.  Keys outside of the vocabulary are ignored, as in scikit-learn; entries without a value are zero or "".
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RuntimeValue
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.maps import element_type, elements

op = Operator("DictVectorizer", "ai.onnx.ml")


@op.eval(1)
def evaluate(
    X: dict[int, RuntimeValue] | dict[str, RuntimeValue],
    *,
    int64_vocabulary: tuple[int, ...] | None = None,
    string_vocabulary: tuple[str, ...] | None = None,
) -> Array:
    """X: a map with keys of the vocabulary's type, result: [1, C] of the type of its values."""
    index_of = {key: i for i, key in enumerate(vocabulary(int64_vocabulary, string_vocabulary))}
    values = elements(X)
    result: Array = np.full((1, len(index_of)), "" if values.dtype.kind == "O" else 0, values.dtype)
    known = [key in index_of for key in X]
    result[0, [index_of[key] for key in X if key in index_of]] = values[known]
    return result


def vocabulary(int64s: object, strings: object) -> tuple[int | str, ...]:
    lists = [v for v in (int64s, strings) if isinstance(v, tuple)]
    if len(lists) != 1:
        raise EvaluationError("one of int64_vocabulary and string_vocabulary must be set; got both or none")
    if len(set(lists[0])) < len(lists[0]):
        raise EvaluationError("the keys of the vocabulary must be distinct")
    return lists[0]


@op.infer(1)
def infer(inference: Inference) -> Result:
    dtype = element_type(inference)
    try:
        words = vocabulary(*map(inference.attributes.get, ("int64_vocabulary", "string_vocabulary")))
    except EvaluationError as error:
        inference.fail(error.why)
    return None if dtype is None else TensorType(dtype, (1, len(words)))
