"""Tokenizer of com.microsoft: strings split at separators, or into the matches of an expression.

Spec: com.microsoft Tokenizer-1, as onnxruntime computes it.  Expressions are those of RE2; the leftmost longest match counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.microsoft.text import DOMAIN
from sardonyx._src.ops.text.re2.automaton import Matcher, compile_expression

op = Operator("Tokenizer", DOMAIN, about="strings split into tokens, along a new last axis")
START, END = "\x02", "\x03"  # of a text


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
    """x: strings [c] or [n, c]; result: tokens [..., most], padded; with `mark` between a start and an end of text."""
    if bool(separators) == bool(tokenexp):
        raise EvaluationError("one of separators and tokenexp must be given; got both or none")
    limit = context.limits.iterations
    if tokenexp:
        matcher = Matcher(compile_expression(tokenexp), limit)
        rows = [[text[i:j] for i, j in matcher.find_all(text)] for text in x.reshape(-1)]
    elif list(separators) == [""]:
        rows = [list(text) for text in x.reshape(-1)]
    else:
        matchers = [Matcher(compile_expression(pattern), limit) for pattern in separators]
        rows = [split_at(text, matchers) for text in x.reshape(-1)]
    rows = [[token for token in row if len(token) >= max(mincharnum, 1)] for row in rows]
    return table(rows, x.shape, pad_value, context, has_marks=bool(mark))


def split_at(text: str, separators: Sequence[Matcher]) -> list[str]:
    """The parts of a text between the matches of all separators, one separator after the other."""
    parts = [text]
    for separator in separators:
        pieces: list[str] = []
        for part in parts:
            start = 0
            for i, j in [*separator.find_all(part), (len(part), len(part))]:
                pieces.append(part[start:i])
                start = j
        parts = [piece for piece in pieces if piece]
    return parts


def table(
    rows: Sequence[Sequence[str]],
    shape: tuple[int, ...],
    pad_value: str,
    context: RunContext,
    *,
    has_marks: bool,
) -> Array:
    most = max(map(len, rows), default=0)
    width = most + 2 if has_marks and most else most
    check_result_bytes(context, (len(rows), width), np.dtype(object), "Tokenizer result")
    result = np.full((len(rows), width), pad_value, object)
    for line, row in zip(result, rows, strict=True):
        tokens = [START, *row, END] if has_marks and most else row
        line[: len(tokens)] = tokens
    return result.reshape(*shape, width)
