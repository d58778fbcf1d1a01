"""Texts split into runs of characters, against the automaton and against `re`."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sardonyx._src.ops.microsoft.tokenizer import split_at
from sardonyx._src.ops.text.re2.automaton import Matcher, compile_expression
from sardonyx._src.ops.text.token_runs import runs_between, runs_of_expression

SEPARATORS = [
    (" ",),
    (" ", "[.]"),
    (r"\s+",),
    (r"\W",),
    ("[ ,]*",),
    ("é", " +"),
    ("\\x00", " "),
    ("[^a]",),
    ("中|b",),
]
OTHERS = [("ab",), ("a|a ", " "), (" a",), (r"\b",), (r"^ ",), ("a|b[c]",), (" ", "ab")]
TEXTS = ["a b.c", "", " ", "  a", "a  ", "a,b é c", "a\0b", "\0", "中 b", "a\udc80b", "\t a\nb ", "aé中"]


def draw_texts() -> list[str]:
    rng = np.random.default_rng(3)
    return ["".join(rng.choice(list("ab ,.é"), rng.integers(0, 9))) for _ in range(60)]


def split_one_by_one(texts: list[str], separators: tuple[str, ...]) -> list[list[str]]:
    matchers = [Matcher(compile_expression(separator), 10**6) for separator in separators]
    return [split_at(text, matchers) for text in texts]


@pytest.mark.parametrize("separators", SEPARATORS)
@pytest.mark.parametrize("texts", [TEXTS, draw_texts(), ["a b", "c"], ["ab"]], ids=range(4))
def test_texts_are_split_as_by_one_separator_after_the_other(
    separators: tuple[str, ...], texts: list[str]
) -> None:
    runs = runs_between(separators)
    assert runs is not None
    assert runs.split(texts) == split_one_by_one(texts, separators)


@pytest.mark.parametrize("separators", OTHERS)
def test_other_separators_are_no_characters(separators: tuple[str, ...]) -> None:
    assert runs_between(separators) is None


@pytest.mark.parametrize("pattern", ["[a-c]+", "[^ ]+", "[é中]+", r"\w+", "[ab ]+"])
def test_tokens_are_the_matches_of_an_expression(pattern: str) -> None:
    runs = runs_of_expression(pattern)
    assert runs is not None
    for texts in ([text for text in TEXTS if text.isprintable()], draw_texts(), ["ab é", "a\0b"]):
        expected = [[m.group() for m in re.finditer(pattern, text, re.ASCII)] for text in texts]
        assert runs.split(texts) == expected


def test_expressions_of_other_tokens_are_no_runs() -> None:
    assert runs_of_expression("[ab]") is None
    assert runs_of_expression("ab") is None
