"""Matching, against Python's own engine where both mean the same, and in time."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx._src.ops.text.re2 import automaton
from sardonyx._src.ops.text.re2.automaton import Matcher, compile_expression

ATOMS = st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", r"\d", r"\w", r"\W", "()", "(?:)", "1", r"\n"])
ANCHORS = st.sampled_from([r"\b", r"\B", "^", r"\A"])  # which Python does not repeat on their own
SUFFIXES = st.sampled_from(["", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "{0}"])


def extend_pattern(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    groups = st.builds(lambda a, b, s: f"(?:{a}|{b}){s}", inner, inner, SUFFIXES)
    return (
        groups
        | st.builds(lambda a, b: a + b, inner, inner)
        | st.builds(lambda a, s: f"({a}){s}", inner, SUFFIXES)
    )


PATTERNS = st.recursive(
    st.builds(lambda a, s: a + s, ATOMS, SUFFIXES) | ANCHORS, extend_pattern, max_leaves=8
)


def matches(pattern: str, text: str) -> bool:
    return Matcher(compile_expression(pattern), 10**8).matches(text)


# Backtracking hangs on some patterns: the examples are the same ones each time.
@settings(derandomize=True, max_examples=200, deadline=None)
@given(PATTERNS, st.lists(st.text("abc1 \n_", max_size=6), min_size=1, max_size=8))
def test_it_agrees_with_backtracking(pattern: str, texts: list[str]) -> None:
    expected = re.compile(pattern, re.ASCII)
    for text in texts:
        if not text and r"\B" in pattern:
            continue  # which Python's before 3.14 does not find in an empty string
        assert matches(pattern, text) == bool(expected.fullmatch(text)), (pattern, text)


@given(st.text(max_size=20))
def test_quoted_text_matches_itself(text: str) -> None:
    if "\\E" not in text:
        assert matches(rf"\Q{text}\E", text)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a*)*b",
        "(a+)+b",
        "(a|aa)+b",
        "(a|a?)+b",
        "(x+x+)+y|a*a*a*a*a*b",
    ],
)
def test_time_grows_with_the_text_alone(pattern: str) -> None:
    start = time.perf_counter()
    assert not matches(pattern, "a" * 20_000)
    assert time.perf_counter() - start < 5


def test_remembered_sets_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automaton, "MAX_CACHED_STATES", 8)
    text = "abbabaabbbab" * 5
    for k in range(5):
        assert matches(f"(a|b)*a(a|b){{{k}}}", text) == (text[-k - 1] == "a")


@pytest.mark.parametrize("pattern", ["a.b", "(?s)a.b", "a[^x]b", r"a\p{Cs}b", r"a\p{Any}b"])
def test_no_set_holds_a_byte_that_is_no_utf_8(pattern: str) -> None:
    assert not matches(pattern, "a\udcffb")
    assert matches(r"a\Cb", "a\udcffb")
    assert not matches(r"a\C\Cb", "a\udcffb")
