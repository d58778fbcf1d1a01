"""Full matches of strings.

Many strings are matched by a table; otherwise google-re2 matches them, if it is installed and certain to agree, or else the
automaton does.  The pattern is always compiled here first, so that errors and limits of patterns do not depend on google-re2.
google-re2 is not used for patterns with Unicode categories, scripts or case folding, because these depend on its version of
Unicode; nor for strings that are not valid UTF-8; nor for work that could exceed the limit, which only the automaton counts
exactly.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.ops.text.re2.automaton import Expression, Matcher, compile_expression
from sardonyx._src.ops.text.re2.transition_table import match_table

UNICODE_TABLES = re.compile(r"\\[pP]|\(\?[a-zA-Z-]*i")  # \p{...} and (?i), also where they are quoted


class NativePattern(Protocol):
    """A pattern compiled by google-re2."""

    def fullmatch(self, text: bytes) -> object | None: ...


class NativeModule(Protocol):
    """The part of google-re2 that this package uses."""

    error: type[Exception]

    def Options(self) -> object: ...

    def compile(self, pattern: bytes, options: object) -> NativePattern: ...


def full_matches(pattern: str, texts: Sequence[str], limit: int) -> NDArray[np.bool_]:
    """Whether the pattern matches each whole string.

    Raises EvaluationError for a pattern that RE2 refuses, and LimitError for a pattern that is too large or if matching would
    visit more than `limit` states.
    """
    expression = compile_expression(pattern)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    is_within_limit = most_visits(expression, int(lengths.sum()), len(texts)) <= limit
    matched = match_table(pattern, texts, lengths) if is_within_limit else None
    if matched is not None:
        return matched
    native = native_pattern(pattern) if is_within_limit else None
    encoded = encode_texts(texts) if native is not None else None
    if native is None or encoded is None:
        matcher = Matcher(expression, limit)
        return np.array([matcher.matches(text) for text in texts], np.bool_)
    return np.array([native.fullmatch(text) is not None for text in encoded], np.bool_)


def most_visits(expression: Expression, characters: int, texts: int) -> int:
    """An upper bound of the states that a Matcher visits; characters: the total number in all texts."""
    return characters + (characters * expression.closures + texts) * len(expression.states)


def encode_texts(texts: Sequence[str]) -> list[bytes] | None:
    """The strings as UTF-8; None if one has surrogates."""
    try:
        return [text.encode() for text in texts]
    except UnicodeEncodeError:
        return None


@lru_cache(maxsize=64)
def native_pattern(pattern: str) -> NativePattern | None:
    """The pattern compiled by google-re2; None if it is not installed, refuses the pattern, or could disagree."""
    module = native_module()
    if module is None or UNICODE_TABLES.search(pattern):
        return None
    options = module.Options()
    setattr(options, "log_errors", False)  # noqa: B010  a refused pattern is no reason to write to stderr
    try:
        return module.compile(pattern.encode(), options)
    except module.error:
        return None


@cache
def native_module() -> NativeModule | None:
    """The module of google-re2; None if it is not installed, or another package provides `re2`."""
    try:
        module = importlib.import_module("re2")
    except ImportError:
        return None
    return cast(NativeModule, module) if hasattr(module, "Options") and hasattr(module, "error") else None
