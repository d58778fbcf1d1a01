"""The numbers of a run of rows of different lengths, counted by hand, and the tokens of a result as an array."""

from __future__ import annotations

import numpy as np

from sardonyx._src.generate.choice.choice import Choice
from sardonyx._src.generate.choice.settings import Settings
from sardonyx._src.generate.decoder.feeds import run_number
from sardonyx._src.generate.loop.continuation import Continuation
from sardonyx._src.generate.loop.request import GenerationRequest

LENGTHS = np.array([3, 1])  # and two new tokens of each row


def test_tokens_from_the_first_place() -> None:
    numbers = {role: run_number(role, LENGTHS, 2).tolist() for role in ("mask", "positions", "past_length")}
    assert numbers == {
        "mask": [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]],
        "positions": [[3, 4], [1, 2]],
        "past_length": [3, 1],
    }
    assert run_number("total_length", LENGTHS, 2).tolist() == [5, 3]


def test_tokens_up_to_the_last_place() -> None:
    assert run_number("mask", LENGTHS, 2, "end").tolist() == [[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]]
    assert run_number("past_length", LENGTHS, 2, "end").tolist() == [3, 3]
    assert run_number("total_length", LENGTHS, 2, "end").tolist() == [5, 5]


def test_numbers_of_a_single_row() -> None:
    single = LENGTHS[:1]
    for alignment in ("start", "end"):
        assert run_number("mask", single, 2, alignment).tolist() == [[1, 1, 1, 1, 1]]
    assert run_number("new_positions", single, 2).tolist() == [3, 4]
    assert run_number("has_past", single, 2).tolist() == [True]
    assert run_number("has_past", np.array([0]), 2).tolist() == [False]


def test_a_long_result_has_all_its_tokens() -> None:
    continuation = Continuation(0, GenerationRequest(np.array([1]), Settings(), 200, ()), None)
    for token in range(150):
        continuation.add(Choice(token))
    assert continuation.generated.tolist() == continuation.tokens == [*range(150)]
