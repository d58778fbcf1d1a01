"""Random samples: a run of the suite that failed fails again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sampling


def drawn_examples() -> list[int]:
    """The examples of a Hypothesis test."""
    examples: list[int] = []

    @given(st.integers())
    def draw(example: int) -> None:
        examples.append(example)

    draw()
    return examples


@pytest.mark.skipif(sampling.FACTOR > 1, reason="make fuzz draws other examples in each run")
def test_examples_are_the_same_in_each_run() -> None:
    assert drawn_examples() == drawn_examples()
