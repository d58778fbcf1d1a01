import numpy as np
import pytest

from ops.microsoft.judge import VendorCase, assert_agrees, assert_native_agrees

RNG = np.random.default_rng(1)


def draw(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32) * 2


CASES = [
    VendorCase("Gelu", [draw(3, 5)]),
    VendorCase("BiasGelu", [draw(2, 3, 8), draw(8)]),
    VendorCase("FastGelu", [draw(2, 8)]),
    VendorCase("FastGelu", [draw(2, 8), draw(8)], label="bias"),
    VendorCase("QuickGelu", [draw(4, 4)]),
    VendorCase("QuickGelu", [draw(4, 4)], {"alpha": 1.0}, label="alpha"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees(case: VendorCase) -> None:
    assert_agrees(case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_native(case: VendorCase) -> None:
    assert_native_agrees(case)
