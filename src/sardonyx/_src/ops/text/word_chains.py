"""Chains of nodes from strings to vectors that count their words; one function computes such a chain."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from sardonyx._src.ir import Array, Node, Value
from sardonyx._src.ops.microsoft.text import DOMAIN
from sardonyx._src.ops.text.re2.runs import run_pattern
from sardonyx._src.ops.text.string_normalizer import plain_case_changer
from sardonyx._src.ops.text.tf_idf_vectorizer import vectorizer_of
from sardonyx._src.ops.text.word_counts import word_counter

Attributes: TypeAlias = Mapping[str, object]
CountWords: TypeAlias = Callable[
    ..., Array
]  # its arguments are the strings, and as `out` an array for the result
TOKENIZER, NORMALIZER, RESHAPE = (DOMAIN, "Tokenizer"), ("", "StringNormalizer"), ("", "Reshape")
MAX_NODES = 4


def match_chain(
    nodes: Sequence[Node],
    attributes: Sequence[Attributes],
    constants: Mapping[Value, object],
    ranks: Mapping[Value, int],
    limit: int,
) -> tuple[int, CountWords] | None:
    """The index of the first node of a chain, and the function that computes its result from its strings; None without a chain.

    A chain is [Reshape] [StringNormalizer] Tokenizer TfIdfVectorizer, where nodes in brackets are optional.  Its strings are a
    vector, and each of them gives a row of the result.

    nodes: each one reads the result of the one before it; the last one may end a chain
    attributes: the attributes of each node
    constants: the arrays of constant values
    ranks: the ranks of values, where they are known
    limit: the largest total number of characters in the strings
    """
    kinds = [(node.domain, node.op_type) for node in nodes]
    first, change_case = len(nodes) - 2, None
    if first < 0 or kinds[first] != TOKENIZER:
        return None
    tokenizer, pattern = attributes[first], find_pattern(attributes[first])
    if first and kinds[first - 1] == NORMALIZER:
        first -= 1
        changer = plain_case_changer(attributes[first])
        if changer is None:
            return None
        change_case = changer.function
    if rank_of(nodes[first].inputs[0], ranks) != 1:
        first -= 1
        if first < 0 or kinds[first] != RESHAPE or not is_flattening(nodes[first], constants):
            return None
    vectorizer = vectorizer_of(attributes[-1])
    if pattern is None or vectorizer is None:
        return None
    if tokenizer["mark"] or tokenizer["pad_value"] in vectorizer.pool.vocabulary:
        return None  # marks and padding would be words
    counter = word_counter(pattern, change_case, vectorizer, int(str(tokenizer["mincharnum"])), limit)
    return None if counter is None else (first, counter.count)


def find_pattern(tokenizer: Attributes) -> re.Pattern[str] | None:
    """The pattern of the tokens; None if they are not runs of some characters."""
    expression = tokenizer.get("tokenexp")
    if not isinstance(expression, str) or not expression or tokenizer.get("separators"):
        return None
    return run_pattern(expression)


def rank_of(value: Value | None, ranks: Mapping[Value, int]) -> int | None:
    return None if value is None else ranks.get(value)


def is_flattening(node: Node, constants: Mapping[Value, object]) -> bool:
    """Whether the result of a Reshape is a vector."""
    shape = None if node.inputs[1] is None else constants.get(node.inputs[1])
    return isinstance(shape, np.ndarray) and shape.size == 1
