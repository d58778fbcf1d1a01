"""StringNormalizer: stop words taken out of a list of strings, and the case of the rest changed.

Spec: ai.onnx StringNormalizer-10.  Case follows the Unicode default algorithms, with the full mappings (ß becomes SS);
words that differ in case alone are those with one full case folding.  `locale` matters where the language has casing
rules of its own: Turkish and Azeri, with a dotted and a dotless i, have theirs; Lithuanian is refused.  The text leaves
the locale's names and the handling of others to the implementation.  Where no word is left the result is one empty
string, also where there was none to begin with.
"""

from __future__ import annotations

import re

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, dim_max
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result

op = Operator("StringNormalizer")
ACTIONS = ("NONE", "LOWER", "UPPER")
# SpecialCasing.txt and CaseFolding.txt, the lines for tr and az.  A dot above after I makes one letter with it.
TURKIC_LOWER = str.maketrans({"I": "ı", "İ": "i"})
TURKIC_UPPER = str.maketrans({"i": "İ", "ı": "I"})


@op.infer(10)
def infer(t: Inference) -> Result:
    shape = t.shape(0)
    if shape is None:
        return TensorType(DataType.STRING)
    if len(shape) not in (1, 2):
        t.fail(f"X is of rank {len(shape)}; [C] and [1, C] are allowed")
    if len(shape) == 2 and isinstance(shape[0], int) and shape[0] != 1:
        t.fail(f"X has {shape[0]} rows; [C] and [1, C] are allowed")
    return TensorType(DataType.STRING, (1,) * (len(shape) - 1) + (left(t, shape[-1]),))


def left(t: Inference, words: Dim) -> Dim:
    """How many strings are left: never none, and all that there were where nothing is a stop word."""
    if isinstance(words, int) and words <= 1:
        return 1
    return t.new_dim() if words is None or t.attributes.get("stopwords") else dim_max(words, 1)


@op.eval(10)
def eval_10(
    X: Array,
    *,
    stopwords: tuple[str, ...] = (),
    locale: str = "en_US",
    is_case_sensitive: int,
    case_change_action: str,
) -> Array:
    """X: strings [C] or [1, C]; result: [D] or [1, D] with 1 <= D."""
    check(X, case_change_action)
    language = language_of(locale) if case_change_action != "NONE" or not is_case_sensitive else ""
    words = X.reshape(-1).tolist()
    if is_case_sensitive:
        kept = [word for word in words if word not in stopwords]
    else:
        unwanted = {folded(word, language) for word in stopwords}
        kept = [word for word in words if folded(word, language) not in unwanted]
    changed = [cased(word, case_change_action, language) for word in kept]
    return np.array(changed or [""], object).reshape((1,) * (X.ndim - 1) + (-1,))


def check(X: Array, case_change_action: str) -> None:
    if X.ndim not in (1, 2) or (X.ndim == 2 and len(X) != 1):
        raise EvaluationError(f"X is of shape {list(X.shape)}; [C] or [1, C] is wanted")
    if case_change_action not in ACTIONS:
        raise EvaluationError(f"case_change_action is {case_change_action!r}; one of {ACTIONS} is wanted")


def language_of(locale: str) -> str:
    """`turkic` for a locale of Turkish or Azeri, nothing for one whose language has no casing rules of its own.

    Raises EvaluationError for Lithuanian, whose rules are not here.
    """
    language = re.split("[-_.@]", locale, maxsplit=1)[0].lower()
    if language in ("lt", "lit", "lithuanian"):
        raise EvaluationError(
            f"locale {locale!r} has casing rules that are not implemented; leave it out or take another"
        )
    return "turkic" if language in ("tr", "tur", "turkish", "az", "aze", "azeri", "azerbaijani") else ""


def cased(word: str, action: str, language: str) -> str:
    if action == "NONE":
        return word
    if language == "turkic":
        word = word.translate(TURKIC_UPPER) if action == "UPPER" else turkic_lower(word)
    return word.upper() if action == "UPPER" else word.lower()


def folded(word: str, language: str) -> str:
    """What words have in common that differ in case alone."""
    return (turkic_lower(word) if language == "turkic" else word).casefold()


def turkic_lower(word: str) -> str:
    return word.replace("I\u0307", "i").translate(TURKIC_LOWER)
