"""The checker reports on damaged documents and never fails."""

from __future__ import annotations

import random

import pytest

from check.damage import assert_bytes_checked, assert_fields_checked, seeds
from sampling import seed_range

SEEDS = list(seeds())


@pytest.mark.parametrize("seed", seed_range(0, 20))
def test_damaged_fields_are_reported(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        assert_fields_checked(chance.choice(SEEDS), chance)


@pytest.mark.parametrize("seed", seed_range(0, 20))
def test_damaged_bytes_are_reported(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(200):
        assert_bytes_checked(chance.choice(SEEDS), chance)
