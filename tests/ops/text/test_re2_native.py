"""google-re2 and the automaton agree; the automaton decides wherever they might not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import Case
from ops.text.test_re2_matching import PATTERNS
from ops.text.test_regex_full_match import CASES
from sardonyx._src.errors import EvaluationError, LimitError
from sardonyx._src.ops.text.re2 import matching
from sardonyx._src.ops.text.re2.automaton import Matcher, compile_expression
from sardonyx._src.ops.text.re2.matching import full_matches, native_pattern

LIMIT = 10**8

needs_re2 = pytest.mark.skipif(matching.native_module() is None, reason="google-re2 is not installed")


def match_natively(pattern: str, texts: list[str]) -> list[bool]:
    native = native_pattern(pattern)
    assert native is not None, pattern
    return [native.fullmatch(text.encode()) is not None for text in texts]


def match_by_automaton(pattern: str, texts: list[str]) -> list[bool]:
    matcher = Matcher(compile_expression(pattern), LIMIT)
    return [matcher.matches(text) for text in texts]


@needs_re2
@pytest.mark.parametrize("case", CASES, ids=str)
def test_both_engines_agree_on_the_cases(case: Case) -> None:
    pattern, texts = str(case.attributes["pattern"]), case.inputs[0]
    assert isinstance(texts, np.ndarray)
    expected = np.asarray(case.expected[0]).tolist()
    assert match_by_automaton(pattern, texts.tolist()) == expected
    if not matching.UNICODE_TABLES.search(pattern):
        assert match_natively(pattern, texts.tolist()) == expected


@needs_re2
@settings(derandomize=True, max_examples=200, deadline=None)
@given(PATTERNS, st.lists(st.text("abc1 \n_é", max_size=6), min_size=1, max_size=8))
def test_both_engines_agree_on_generated_patterns(pattern: str, texts: list[str]) -> None:
    assert match_natively(pattern, texts) == match_by_automaton(pattern, texts)


@pytest.mark.parametrize("pattern", [r"\pL", r"a\P{Greek}", "(?i)a", "a(?m-i:b)", "(?-i)a"])
def test_patterns_that_depend_on_unicode_tables_stay_with_the_automaton(pattern: str) -> None:
    assert native_pattern(pattern) is None


def test_results_do_not_depend_on_google_re2(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["aab", "", "b", "a\udcffb"]
    installed = full_matches("a.*b", texts[:3], LIMIT)
    with_surrogate = full_matches("a.*b", texts, LIMIT)
    monkeypatch.setattr(matching, "native_pattern", lambda pattern: None)
    assert full_matches("a.*b", texts[:3], LIMIT).tolist() == installed.tolist() == [True, False, False]
    expected = [True, False, False, False]
    assert full_matches("a.*b", texts, LIMIT).tolist() == with_surrogate.tolist() == expected


def test_errors_and_limits_are_those_of_the_automaton() -> None:
    with pytest.raises(EvaluationError, match="a group is not closed"):
        full_matches("(", [], LIMIT)
    with pytest.raises(EvaluationError, match="a count must be ascending numbers up to 1000"):
        full_matches("a{99999999999}", ["a"], LIMIT)  # google-re2 accepts it
    with pytest.raises(LimitError, match=r"limits\.iterations"):
        full_matches("a*", ["a" * 100], 50)
