"""Tokenizer of com.microsoft: strings split at separators, or into the matches of a regular expression.

Spec: com.microsoft Tokenizer-1, as onnxruntime computes it.  Expressions have the syntax of RE2; a match is the leftmost
longest one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, LimitError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.microsoft.text import DOMAIN
from sardonyx._src.ops.ml.lookup import string_vector
from sardonyx._src.ops.text.padded_rows import pad_rows
from sardonyx._src.ops.text.re2.automaton import Matcher, compile_expression
from sardonyx._src.ops.text.token_runs import runs_between, runs_of_expression

op = Operator("Tokenizer", DOMAIN, about="strings split into tokens, along a new last axis")
START, END = "\x02", "\x03"  # the tokens that mark the start and the end of a string


@op.infer(1)
def infer(inference: Inference) -> Result:
    shape = inference.shape(0)
    if shape is not None and len(shape) not in (1, 2):
        inference.fail(f"input 0 must have rank 1 or 2; got rank {len(shape)}")
    return TensorType(DataType.STRING, None if shape is None else (*shape, inference.new_dim()))


@op.eval(1)
def evaluate(
    x: Array,
    *,
    mark: int,
    pad_value: str,
    mincharnum: int,
    separators: Sequence[str] = (),
    tokenexp: str = "",
    context: RunContext,
) -> Array:
    """x: strings [c] or [n, c]; result: tokens [..., most], padded; with `mark`, between a start and an end token."""
    if bool(separators) == bool(tokenexp):
        raise EvaluationError("one of separators and tokenexp must be given; got both or none")
    limit, strings = context.limits.iterations, x.reshape(-1).tolist()
    if list(separators) == [""] and mincharnum <= 1 and len(pad_value) == 1 and not mark:
        return split_characters(strings, x.shape, pad_value, context)
    if tokenexp:
        rows = find_tokens(strings, tokenexp, limit)
    elif list(separators) == [""]:
        rows = list(map(list, strings))
    else:
        rows = split_strings(strings, tuple(separators), limit)
    if mincharnum > 1:
        rows = [[token for token in row if len(token) >= mincharnum] for row in rows]
    return table(rows, x.shape, pad_value, context, has_marks=bool(mark))


def find_tokens(strings: Sequence[str], expression: str, limit: int) -> list[list[str]]:
    """The matches of an expression in each string; raises LimitError if matching visits more than `limit` states."""
    runs = runs_of_expression(expression)
    if runs is not None:
        check_characters(strings, limit)
        return runs.split(strings)
    matcher = Matcher(compile_expression(expression), limit)
    return [[string[i:j] for i, j in matcher.find_all(string)] for string in strings]


def split_strings(strings: Sequence[str], separators: tuple[str, ...], limit: int) -> list[list[str]]:
    """The parts of each string between matches of the separators; raises LimitError as `find_tokens`."""
    runs = runs_between(separators)
    if runs is not None:
        check_characters(strings, limit)
        return runs.split(strings)
    matchers = [Matcher(compile_expression(pattern), limit) for pattern in separators]
    return [split_at(string, matchers) for string in strings]


def check_characters(strings: Sequence[str], limit: int) -> None:
    """Raises LimitError if the strings have more characters in all than a matcher may visit states."""
    if sum(map(len, strings)) > limit:
        raise LimitError(f"matching must visit at most {limit} states", limit="limits.iterations")


def split_at(string: str, separators: Sequence[Matcher]) -> list[str]:
    """The nonempty parts of a string, after it was split at the matches of one separator after the other."""
    parts = [string]
    for separator in separators:
        pieces: list[str] = []
        for part in parts:
            start = 0
            for i, j in [*separator.find_all(part), (len(part), len(part))]:
                pieces.append(part[start:i])
                start = j
        parts = [piece for piece in pieces if piece]
    return parts


def split_characters(
    strings: Sequence[str], shape: tuple[int, ...], pad_value: str, context: RunContext
) -> Array:
    """The characters of each string, padded with the character `pad_value`."""
    width = max(map(len, strings), default=0)
    check_result_bytes(context, (len(strings), width), np.dtype(object), "Tokenizer result")
    joined = "".join([string.ljust(width, pad_value) for string in strings])
    return string_vector(list(joined)).reshape(*shape, width)


def table(
    rows: Sequence[list[str]],
    shape: tuple[int, ...],
    pad_value: str,
    context: RunContext,
    *,
    has_marks: bool,
) -> Array:
    most = max(map(len, rows), default=0)
    width = most + 2 if has_marks and most else most
    check_result_bytes(context, (len(rows), width), np.dtype(object), "Tokenizer result")
    if width > most:
        rows = [[START, *row, END] for row in rows]
    return pad_rows(rows, width, pad_value).reshape(*shape, width)
