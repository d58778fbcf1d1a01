"""Gradients of operators, against central differences in float64."""

from __future__ import annotations

import numpy as np
import pytest

from grad.differences import assert_gradients, weighted_loss
from grad.gradient_cases import CASES, GradientCase


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_are_central_differences(case: GradientCase) -> None:
    feeds = case.feeds()
    doubles = [name for name, value in feeds.items() if isinstance(value, np.ndarray)]
    assert_gradients(weighted_loss(case.model()), feeds, doubles)
