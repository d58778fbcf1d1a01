"""Full matches of many texts at once, against Python's `re` and against the automaton."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sardonyx._src.ops.text.re2.automaton import Matcher, compile_expression
from sardonyx._src.ops.text.re2.matching import full_matches
from sardonyx._src.ops.text.re2.transition_table import match_table, transition_table

LIMIT = 10**7
PATTERNS = [
    "a*",
    "[ab]+c?",
    "(ab|ba)*",
    r"\w+@\w+[.](com|org)",
    r"(\W|^)[\w.]{0,5}@a(\W|$)",
    "(?s).*b",
    ".*b",
    "é+|a[^b]",
    r"a\b.*",
    "(a|b)*a(a|b){3}",
]
ALPHABETS = ["aabb", "abc@.com\n", "aébµ@a", "aé中\U0001f600b"]


def draw_texts(alphabet: str, count: int, longest: int) -> list[str]:
    rng = np.random.default_rng(8)
    return ["".join(rng.choice(list(alphabet), rng.integers(0, longest + 1))) for _ in range(count)]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("alphabet", ALPHABETS)
@pytest.mark.parametrize("longest", [1, 3, 4, 9])
def test_matches_are_those_of_re(pattern: str, alphabet: str, longest: int) -> None:
    texts = [*draw_texts(alphabet, 40, longest), "ab@ab.com", "ab@ab.org"]
    lengths = np.array([len(text) for text in texts])
    table = transition_table(pattern)
    assert table is not None
    expected = [re.fullmatch(pattern.replace("$", r"\Z"), text, re.ASCII) is not None for text in texts]
    assert table.matches(texts, lengths, int(lengths.max())).tolist() == expected


@pytest.mark.parametrize("surrogates", [[], ["\udc80", "a\udc80"]])
def test_texts_with_nul_and_surrogates_are_read_as_by_the_automaton(surrogates: list[str]) -> None:
    texts = ["a\0", "a", "\0", "", "a\0\0", *surrogates] * 4
    lengths = np.array([len(text) for text in texts])
    for pattern in ("a\\x00*", "(?s)a.?", "[^a]*"):
        matcher, matched = Matcher(compile_expression(pattern), LIMIT), match_table(pattern, texts, lengths)
        assert matched is not None
        assert matched.tolist() == [matcher.matches(text) for text in texts]


def test_few_texts_and_texts_of_very_different_lengths_are_left_to_others() -> None:
    few, uneven = ["ab"] * 15, ["a"] * 40 + ["a" * 1000]
    for texts in (few, uneven):
        assert match_table("a*", texts, np.array([len(text) for text in texts])) is None
        assert full_matches("a*", texts, LIMIT).tolist() == [set(text) == {"a"} for text in texts]


def test_an_expression_with_many_states_has_no_table() -> None:
    assert transition_table("(a|b)*a(a|b){14}") is None
