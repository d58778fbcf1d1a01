"""The choice of tokens: penalties, filters, draws, and arithmetic that is the same on every machine."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.generate.choice.arithmetic import exp, probabilities
from sardonyx._src.generate.choice.choice import choose
from sardonyx._src.generate.choice.draws import uniform
from sardonyx._src.generate.choice.filters import candidates
from sardonyx._src.generate.choice.settings import Settings, SettingsKeywords

LOGITS = np.log(np.array([0.05, 0.4, 0.1, 0.1, 0.3, 0.05]))
NONE = np.zeros(0, np.int64)


def tokens_of(**settings: object) -> list[int]:
    tokens: list[int] = candidates(LOGITS, Settings(temperature=1, **settings))[0].tolist()  # type: ignore[arg-type]
    return tokens


def test_exponentials_are_right_to_two_bits() -> None:
    x = -np.abs(np.random.default_rng(0).standard_normal(20_000) * 100)
    x = np.concatenate([x, [0.0, -1e-300, -0.5 * math.log(2), -708.0]])
    expected = np.array([math.exp(v) for v in x])
    is_normal = x >= -708
    assert np.max(np.abs(exp(x) / expected - 1)[is_normal]) < 2**-51
    assert exp(np.array([-709.0, -1e9, -math.inf])).tolist() == [0, 0, 0]


def test_exponentials_are_these_bits() -> None:
    """By exact rational arithmetic of the definition, rounded after each operation as IEEE 754 says."""
    assert exp(np.array([-1.0]))[0].hex() == "0x1.78b56362cef38p-2"
    assert exp(np.array([-20.0]))[0].hex() == math.exp(-20).hex()


def test_logits_that_are_no_numbers_have_no_probabilities() -> None:
    assert np.isnan(probabilities(np.array([0, math.nan, 1]))).all()
    assert choose(np.full(3, np.nan, np.float32), Settings(temperature=1), NONE, NONE).token in range(3)


def test_top_k_keeps_the_lowest_numbers_of_equal_logits() -> None:
    assert tokens_of(top_k=3) == [1, 4, 2]
    assert tokens_of(top_k=4) == [1, 4, 2, 3]
    assert tokens_of(top_k=99) == [1, 4, 2, 3, 0, 5]


def test_top_p_takes_the_fewest_tokens_that_reach_it() -> None:
    assert tokens_of(top_p=0.4 - 1e-9) == [1]
    assert tokens_of(top_p=0.6) == [1, 4]
    assert tokens_of(top_p=0.75) == [1, 4, 2]
    assert tokens_of(top_p=0.75, top_k=2) == [1, 4]  # of 0.7 in all, 0.75 are 0.525


def test_min_p_is_a_share_of_the_highest_probability() -> None:
    assert tokens_of(min_p=0.7) == [1, 4]
    assert tokens_of(min_p=0.2) == [1, 4, 2, 3]
    assert tokens_of(min_p=1.0) == [1]


def test_top_p_of_large_vocabularies_equals_a_full_sort() -> None:
    logits = np.random.default_rng(1).standard_normal(50_000) * 0.1
    tokens, shares = candidates(logits, Settings(temperature=1, top_p=0.5))
    order = np.argsort(-logits, kind="stable")
    sums = np.cumsum(probabilities(logits[order]))
    assert tokens.tolist() == order[: np.searchsorted(sums, 0.5) + 1].tolist()
    assert shares.sum() == pytest.approx(1, abs=1e-12)


def test_draws_follow_the_probabilities() -> None:
    settings = [Settings(temperature=2.0, seed=seed) for seed in range(8000)]
    logits = (2 * LOGITS).astype(np.float32)
    counts = np.bincount([choose(logits, item, NONE, NONE).token for item in settings], minlength=6)
    expected = np.exp(LOGITS) * len(settings)
    statistic = float((((counts - expected) ** 2) / expected).sum())
    assert statistic < 20.5  # 99.9 % of the chi-squared distribution with 5 degrees of freedom


def test_draws_depend_on_seed_result_and_position() -> None:
    assert uniform(3, 1, 7) == uniform(3, 1, 7)
    drawn = {
        uniform(seed, result, position) for seed in range(5) for result in range(5) for position in range(5)
    }
    assert len(drawn) == 125 and all(0 <= value < 1 for value in drawn)


def test_greedy_takes_the_lowest_of_equal_tokens() -> None:
    assert choose(np.array([1, 3, 3, 0], np.float32), Settings(), NONE, NONE).token == 1


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"repetition_penalty": 2.0}, [1, -2, 1.5, -4]),  # divided if positive, multiplied if negative
        ({"presence_penalty": 0.5}, [2, -1, 2.5, -2.5]),  # of the result alone
        ({"frequency_penalty": 0.5}, [2, -1, 2, -2.5]),
        ({"presence_penalty": 1.0, "frequency_penalty": 0.25}, [2, -1, 1.5, -3.25]),
        ({"logit_bias": {1: 4.5, 2: -100}}, [2, 3.5, -97, -2]),
    ],
)
def test_penalties(settings: SettingsKeywords, expected: list[float]) -> None:
    from sardonyx._src.generate.choice.penalties import apply_penalties

    logits, prompt, generated = np.array([2.0, -1.0, 3.0, -2.0]), np.array([0, 1]), np.array([2, 3, 2])
    np.testing.assert_allclose(apply_penalties(logits, Settings(**settings), prompt, generated), expected)
    np.testing.assert_array_equal(logits, [2.0, -1.0, 3.0, -2.0])


def test_logarithms_are_those_of_the_model_whatever_is_drawn() -> None:
    choice = choose(LOGITS.astype(np.float32), Settings(logprobs=2, top_k=1, temperature=0.1), NONE, NONE)
    assert choice.token == 1 and choice.logprob == pytest.approx(math.log(0.4), abs=1e-6)
    assert [token for token, _ in choice.alternatives] == [1, 4]
    assert choice.alternatives[1][1] == pytest.approx(math.log(0.3), abs=1e-6)


def test_tokens_that_are_not_allowed_are_never_chosen() -> None:
    allowed = np.array([True, False, True, True, False, True])
    assert choose(LOGITS.astype(np.float32), Settings(), NONE, NONE, allowed=allowed).token == 2
    drawn = {
        choose(LOGITS.astype(np.float32), Settings(temperature=1, seed=s), NONE, NONE, allowed=allowed).token
        for s in range(200)
    }
    assert drawn == {0, 2, 3, 5}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_tokens": 0}, "max_tokens must be at least 1; got 0"),
        ({"temperature": -1.0}, "temperature must be at least 0; got -1.0"),
        ({"top_p": 0.0}, "top_p must be greater than 0 and at most 1; got 0.0"),
        ({"top_p": 1.5}, "top_p must be greater than 0 and at most 1; got 1.5"),
        ({"repetition_penalty": 0}, "repetition_penalty must be greater than 0; got 0"),
        ({"presence_penalty": math.inf}, "presence_penalty must be finite; got inf"),
        ({"beams": 2, "temperature": 1.0}, "beams must be 1 if tokens are drawn; got 2"),
        ({"beams": 2, "n": 3}, "n must be at most the number of beams, 2; got 3"),
        ({"stop": ["a", ""]}, "a text of stop must not be empty"),
        ({"logit_bias": {1: math.inf}}, "logit_bias must be finite; got inf"),
        ({"seed": -1}, "seed must be in 0 to 18446744073709551615; got -1"),
    ],
)
def test_settings_out_of_bounds_are_refused(settings: SettingsKeywords, message: str) -> None:
    with pytest.raises(sx.InputError, match=message):
        Settings(**settings)
