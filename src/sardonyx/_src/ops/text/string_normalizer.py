"""StringNormalizer: removes stop words from a list of strings and changes the case of the rest.

Spec: ai.onnx StringNormalizer-10.  Case follows the Unicode default algorithms, with the full mappings (ß becomes SS);
words are equal ignoring case if their full case foldings are equal.  `locale` matters only for languages with special
casing rules: Turkish and Azeri, with a dotted and a dotless i, are supported; Lithuanian is refused.  The specification
leaves the names of locales and the handling of unknown ones to the implementation.  If no word remains, or there is none to
begin with, the result is one empty string.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import NamedTuple

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim, dim_max
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.lookup import string_vector
from sardonyx._src.ops.traits import enum_values

CASE_ACTIONS = ("NONE", "LOWER", "UPPER")

op = Operator("StringNormalizer", enum_attributes={"case_change_action": enum_values(*CASE_ACTIONS)})
# From the lines for tr and az of Unicode's SpecialCasing.txt and CaseFolding.txt.  I followed by U+0307, a dot above, is one letter.
TURKIC_LOWER = str.maketrans({"I": "ı", "İ": "i"})
TURKIC_UPPER = str.maketrans({"i": "İ", "ı": "I"})


@op.infer(10)
def infer(inference: Inference) -> Result:
    shape = inference.shape(0)
    if shape is None:
        return TensorType(DataType.STRING)
    if len(shape) not in (1, 2):
        inference.fail(f"X must be [C] or [1, C]; got rank {len(shape)}")
    if len(shape) == 2 and isinstance(shape[0], int) and shape[0] != 1:
        inference.fail(f"X must be [C] or [1, C]; got {shape[0]} rows")
    return TensorType(DataType.STRING, (1,) * (len(shape) - 1) + (remaining_dim(inference, shape[-1]),))


def remaining_dim(inference: Inference, words: Dim) -> Dim:
    """Number of remaining strings: at least one, and all of them if there are no stop words."""
    if isinstance(words, int) and words <= 1:
        return 1
    return (
        inference.new_dim() if words is None or inference.attributes.get("stopwords") else dim_max(words, 1)
    )


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
    check_inputs(X, case_change_action)
    is_folded = bool(stopwords) and not is_case_sensitive
    language = supported_language_of(locale) if is_folded or case_change_action != "NONE" else ""
    words = X.reshape(-1).tolist()
    if is_folded:
        folded = fold_all(stopwords, language)
        words = [word for word in words if fold_case(word, language) not in folded]
    elif stopwords:
        removed = frozenset(stopwords)
        words = [word for word in words if word not in removed]
    if case_change_action != "NONE":
        words = list(map(case_changer(case_change_action, language), words))
    return string_vector(words or [""]).reshape((1,) * (X.ndim - 1) + (-1,))


@lru_cache(maxsize=64)
def fold_all(words: tuple[str, ...], language: str) -> frozenset[str]:
    """The case foldings of words."""
    return frozenset(fold_case(word, language) for word in words)


def check_inputs(X: Array, case_change_action: str) -> None:
    if X.ndim not in (1, 2) or (X.ndim == 2 and len(X) != 1):
        raise EvaluationError(f"X must be [C] or [1, C]; got shape {list(X.shape)}")
    if case_change_action not in CASE_ACTIONS:
        raise EvaluationError(
            f"case_change_action must be one of {', '.join(CASE_ACTIONS)}; got {case_change_action!r}"
        )


@lru_cache(maxsize=64)
def language_of(locale: str) -> str:
    """ "turkic" for a Turkish or Azeri locale, "lithuanian", or "" for languages without special casing rules."""
    language = re.split("[-_.@]", locale, maxsplit=1)[0].lower()
    if language in ("lt", "lit", "lithuanian"):
        return "lithuanian"
    return "turkic" if language in ("tr", "tur", "turkish", "az", "aze", "azeri", "azerbaijani") else ""


def supported_language_of(locale: str) -> str:
    """`language_of`; raises EvaluationError for Lithuanian, whose casing rules are not implemented."""
    language = language_of(locale)
    if language == "lithuanian":
        raise EvaluationError(
            f"locale must not be Lithuanian, whose casing rules are not implemented; got {locale!r}; omit it or use another"
        )
    return language


class CaseChanger(NamedTuple):
    """function: changes the case of a string; None if the case is kept."""

    function: Callable[[str], str] | None


def plain_case_changer(attributes: Mapping[str, object]) -> CaseChanger | None:
    """The effect of a node with these attributes on each string; None if it may remove strings, or depends on a language.

    It never raises, since it is called before the run: a locale that is not supported is an error only where the node runs.
    """
    action = str(attributes["case_change_action"])
    if attributes.get("stopwords") or action not in CASE_ACTIONS:
        return None
    if action == "NONE":
        return CaseChanger(None)
    language = language_of(str(attributes.get("locale", "en_US")))
    return None if language else CaseChanger(case_changer(action, language))


def case_changer(action: str, language: str) -> Callable[[str], str]:
    """The function that changes a word to upper or lower case, as the action "UPPER" or "LOWER" says."""
    if language != "turkic":
        return str.upper if action == "UPPER" else str.lower
    return partial(change_turkic_case, action=action)


def change_turkic_case(word: str, action: str) -> str:
    return word.translate(TURKIC_UPPER).upper() if action == "UPPER" else turkic_lower(word).lower()


def fold_case(word: str, language: str) -> str:
    """The case folding of a word, for comparisons that ignore case."""
    return (turkic_lower(word) if language == "turkic" else word).casefold()


def turkic_lower(word: str) -> str:
    return word.replace("I\u0307", "i").translate(TURKIC_LOWER)
