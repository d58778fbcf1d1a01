"""All matches in a text, against Python's `re`, whose matches are the longest ones for these expressions."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sardonyx._src.errors import LimitError
from sardonyx._src.ops.text.re2.automaton import Matcher, compile_expression
from sardonyx._src.ops.text.re2.runs import run_pattern

RUNS = ["[a-c]+", "[a-zA-Z0-9_]+", "[^ ]+", "a+", "[é中]+"]  # found by a search for bytes
OTHERS = ["[ab][ab]+", "a[bc]*", "[ab]+c", "ab", "[a-c]", r"\b[ab]+", "[ab]+$", "^[ab]+", "(?:ab)+"]
ALPHABET = "aabbc _9é\n"


def random_texts(alphabet: str) -> list[str]:
    rng = np.random.default_rng(14)
    return ["".join(rng.choice(list(alphabet), n)) for n in (0, 1, 2, 5, 20, 60) for _ in range(20)]


@pytest.mark.parametrize("pattern", [*RUNS, *OTHERS])
@pytest.mark.parametrize("alphabet", [ALPHABET, ALPHABET + "中\U0001f600"], ids=["latin", "wide"])
def test_matches_are_those_of_re(pattern: str, alphabet: str) -> None:
    matcher = Matcher(compile_expression(pattern), 10**6)
    python = re.compile(pattern.replace("$", r"\Z"), re.ASCII)
    for text in random_texts(alphabet):
        assert matcher.find_all(text) == [match.span() for match in python.finditer(text)], text


@pytest.mark.parametrize("pattern", RUNS)
def test_runs_are_recognized(pattern: str) -> None:
    assert Matcher(compile_expression(pattern), 10**6).repeated_classes is not None


@pytest.mark.parametrize("pattern", OTHERS)
def test_other_expressions_are_not_runs(pattern: str) -> None:
    assert Matcher(compile_expression(pattern), 10**6).repeated_classes is None


@pytest.mark.parametrize("pattern", [*RUNS, "[^a]+", r"\w+", "[[:alpha:]-]+", "(?i)[kß]+"])
def test_runs_are_patterns_of_re(pattern: str) -> None:
    matcher, runs = Matcher(compile_expression(pattern), 10**6), run_pattern(pattern)
    assert runs is not None
    for text in random_texts(ALPHABET + "-kKß]^\\中\U0001f600\udc80\U0010ffff"):
        assert [match.span() for match in runs.finditer(text)] == matcher.find_all(text), text


@pytest.mark.parametrize("pattern", OTHERS)
def test_other_expressions_have_no_pattern(pattern: str) -> None:
    assert run_pattern(pattern) is None


@pytest.mark.parametrize("pattern", ["[a-c]+", "[ab]+c"])
def test_characters_count_towards_the_limit(pattern: str) -> None:
    with pytest.raises(LimitError, match="at most 1000 states"):
        Matcher(compile_expression(pattern), 1000).find_all("ab " * 1000)
