"""No damage to a document makes the checker fail: it reports, always."""

from __future__ import annotations

import random

import pytest

from check.damage import check_bytes, check_fields, seeds

SEEDS = list(seeds())


@pytest.mark.parametrize("seed", range(20))
def test_damaged_fields_are_reported(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        check_fields(chance.choice(SEEDS), chance)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_bytes_are_reported(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(200):
        check_bytes(chance.choice(SEEDS), chance)
