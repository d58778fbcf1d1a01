import numpy as np
import pytest

from ops.microsoft.judge import VendorCase, assert_agrees, assert_native_agrees

RNG = np.random.default_rng(12)
B, L, C, H = 2, 3, 4, 8  # batch, length, branches, size


def draw(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return RNG.normal(size=shape).astype(dtype)


HALF = np.float16
PRE, POST, ENGRAM = "HyperConnectionPreMix", "HyperConnectionPostMix", "EngramGate"
FLAT = {"num_branches": C}
PRE_MIXES = [
    VendorCase(PRE, [draw(B, L, C, H), draw(B, L, C)]),
    VendorCase(PRE, [draw(B, L, C, H), draw(B, L, C, 1)], {"reduction_scale": 0.25}, label="column"),
    VendorCase(PRE, [draw(B, L, C, H), draw(B, L, C, H)], label="features"),
    VendorCase(PRE, [draw(B, L, C * H), draw(B, L, C)], FLAT, label="flat"),
    VendorCase(PRE, [draw(B, L, C * H), draw(B, L, C * H)], FLAT, label="flat features"),
    VendorCase(PRE, [draw(B, L, C * H), draw(B, L, C, H)], FLAT, label="flat streams alone"),
    VendorCase(
        PRE, [draw(B, L, C, H, dtype=HALF), draw(B, L, C, dtype=HALF)], {}, rtol=1e-2, atol=1e-2, label="half"
    ),
    VendorCase(
        PRE,
        [draw(B, L, C, H, dtype=HALF), draw(B, L, C)],
        {},
        rtol=1e-2,
        atol=1e-2,
        label="half, float gates",
    ),
]
POST_MIXES = [
    VendorCase(POST, [draw(B, L, C, H), draw(B, L, H), draw(B, L, C)]),
    VendorCase(POST, [draw(B, L, C, H), draw(B, L, H), draw(B, L, C, 1), draw(B, L, C, C)], label="mix"),
    VendorCase(POST, [draw(B, L, C, H), draw(B, L, H), draw(B, L, C, H)], label="features"),
    VendorCase(POST, [draw(B, L, C * H), draw(B, L, H), draw(B, L, C), draw(B, L, C, C)], FLAT, label="flat"),
    VendorCase(
        POST,
        [draw(B, L, C, H, dtype=HALF), draw(B, L, H, dtype=HALF), draw(B, L, C), draw(B, L, C, C)],
        {},
        rtol=1e-2,
        atol=1e-2,
        label="half",
    ),
]
KEYS = [draw(B, L, C, H), draw(B, L, C, H), draw(B, L, H), draw(C, H), draw(C, H)]
HALF_KEYS = [x.astype(HALF) for x in (*KEYS, draw(C, H))]
GATES = [
    VendorCase(ENGRAM, KEYS),
    VendorCase(ENGRAM, [*KEYS, draw(C, H)], {"epsilon": 0.1}, 2, label="normed"),
    VendorCase(ENGRAM, [KEYS[0], 0 * KEYS[1], *KEYS[2:]], label="no query"),
    VendorCase(ENGRAM, HALF_KEYS, {}, 2, rtol=1e-2, atol=1e-2, label="half"),
]
CASES = [*PRE_MIXES, *POST_MIXES, *GATES]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees(case: VendorCase) -> None:
    assert_agrees(case)


@pytest.mark.parametrize("case", [PRE_MIXES[0], POST_MIXES[1], GATES[1]], ids=str)
def test_native_agrees(case: VendorCase) -> None:
    assert_native_agrees(case)
