"""StringNormalizer: a row of strings without stop words, in upper or lower case.

Spec: ai.onnx StringNormalizer-10.  Case follows Unicode, whatever the locale, but for the letters i of Turkish and
Azerbaijani.
"""

from __future__ import annotations

import numpy as np

from sardonyx.dtypes import DataType
from sardonyx.errors import EvaluationError
from sardonyx.ir.dims import dim_max
from sardonyx.ir.tensors import Array
from sardonyx.ir.types import TensorType
from sardonyx.ops.api import Operator
from sardonyx.ops.inference import Inference, Result

op = Operator("StringNormalizer")
ACTIONS = ("NONE", "LOWER", "UPPER")
DOTLESS = ("tr", "az")  # languages that write i without dot as a letter of its own


@op.eval(10)
def evaluate(
    X: Array,
    *,
    case_change_action: str,
    is_case_sensitive: int,
    locale: str = "",
    stopwords: tuple[str, ...] = (),
) -> Array:
    """X: [C] or [1, C] strings, result: [C'] or [1, C']; one empty string where none is left."""
    if X.ndim not in (1, 2) or (X.ndim == 2 and X.shape[0] != 1):
        raise EvaluationError(f"X has shape {list(X.shape)}, where [C] or [1, C] is wanted")
    if case_change_action not in ACTIONS:
        raise EvaluationError(
            f"case_change_action is {case_change_action!r}, where {', '.join(ACTIONS)} are known"
        )
    texts = without(X.reshape(-1).tolist(), stopwords, bool(is_case_sensitive), locale)
    if case_change_action != "NONE":
        texts = [recased(text, case_change_action, locale) for text in texts]
    result: Array = np.empty(max(1, len(texts)), object)
    result[:] = texts or [""]
    return result.reshape(1, -1) if X.ndim == 2 else result


def without(texts: list[str], stopwords: tuple[str, ...], sensitive: bool, locale: str) -> list[str]:
    if sensitive:
        return [text for text in texts if text not in stopwords]
    stopped = {recased(word, "LOWER", locale) for word in stopwords}
    return [text for text in texts if recased(text, "LOWER", locale) not in stopped]


def recased(text: str, action: str, locale: str) -> str:
    dotless = locale[:2].lower() in DOTLESS
    if action == "UPPER":
        return (text.replace("i", "İ") if dotless else text).upper()
    return (text.replace("İ", "i").replace("I", "ı") if dotless else text).lower()


@op.infer(10)
def infer(t: Inference) -> Result:
    shape = t.shape(0)
    if shape is None:
        return TensorType(DataType.STRING)
    if len(shape) not in (1, 2) or (
        len(shape) == 2 and shape[0] not in (1, None) and isinstance(shape[0], int)
    ):
        t.fail(f"input 0 has shape {list(map(str, shape))}, where [C] or [1, C] is wanted")
    left = t.new_dim() if t.attributes.get("stopwords") else dim_max(shape[-1], 1)
    return TensorType(DataType.STRING, (*(1,) * (len(shape) - 1), left))
