"""Chains of nodes from strings to vectors that count their words; the bound kernel of the last node computes such a chain.

A chain is [Reshape] [StringNormalizer] Tokenizer TfIdfVectorizer, where nodes in brackets are optional.  Its strings are a
vector, and each of them gives a row of the result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from sardonyx._src.ops.bound_kernel import BoundKernel, NodeBinding
from sardonyx._src.ops.microsoft.text import DOMAIN
from sardonyx._src.ops.text.ngram_vectors import NgramVectorizer
from sardonyx._src.ops.text.re2.runs import run_pattern
from sardonyx._src.ops.text.string_normalizer import plain_case_changer
from sardonyx._src.ops.text.word_counts import word_counter

Attributes: TypeAlias = Mapping[str, Any]
TOKENIZER, NORMALIZER, RESHAPE = (DOMAIN, "Tokenizer"), ("", "StringNormalizer"), ("", "Reshape")


def bind_chain(binding: NodeBinding, vectorizer: NgramVectorizer) -> BoundKernel | None:
    """The kernel of a chain that ends with a TfIdfVectorizer; None if the node does not end a chain.

    vectorizer: counts the n-grams of the node.
    """
    tokenizer = binding.producers(0)
    if tokenizer is None or tokenizer.operator != TOKENIZER:
        return None
    pattern = find_pattern(tokenizer.attributes)
    if pattern is None:
        return None
    if tokenizer.attributes["mark"] or tokenizer.attributes["pad_value"] in vectorizer.pool.vocabulary:
        return None  # marks and padding would be words
    chain, change_case = [tokenizer], None
    normalizer = tokenizer.producers(0)
    if normalizer is not None and normalizer.operator == NORMALIZER:
        changer = plain_case_changer(normalizer.attributes)
        if changer is None:
            return None
        chain, change_case = [normalizer, tokenizer], changer.function
    flattening = find_flattening(chain[0])
    if flattening is None:
        return None
    shortest = int(tokenizer.attributes["mincharnum"])
    counter = word_counter(pattern, change_case, vectorizer, shortest, binding.max_iterations)
    if counter is None:
        return None
    return BoundKernel(counter.count, tuple(each.node for each in (*flattening, *chain)), takes_out=True)


def find_pattern(tokenizer: Attributes) -> re.Pattern[str] | None:
    """The pattern of the tokens; None if they are not runs of some characters."""
    expression = tokenizer.get("tokenexp")
    if not isinstance(expression, str) or not expression or tokenizer.get("separators"):
        return None
    return run_pattern(expression)


def find_flattening(first: NodeBinding) -> tuple[NodeBinding, ...] | None:
    """The Reshape that makes the strings of a chain a vector; () if they are one; None if they cannot be shown to be one."""
    if (shape := first.inputs[0].shape) is not None and len(shape) == 1:
        return ()
    producer = first.producers(0)
    if producer is None or producer.operator != RESHAPE:
        return None
    shape_input = producer.inputs[1].array
    return (producer,) if shape_input is not None and shape_input.size == 1 else None
