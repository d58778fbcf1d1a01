import numpy as np
import pytest

from ops.microsoft.judge import VendorCase, assert_agrees

RNG = np.random.default_rng(11)
HEADS = {"q_num_heads": 2, "kv_num_heads": 2}


def draw(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32) * np.float32(0.3)


QKV = [draw(1, 3, 8), draw(1, 3, 8), draw(1, 3, 8)]
STATE, DECAY, RATE = draw(1, 2, 4, 4), -np.abs(draw(1, 3, 2)), np.abs(draw(1, 3, 2))
CASES = [
    VendorCase("LinearAttention", QKV, {**HEADS, "update_rule": "linear"}, 2),
    VendorCase(
        "LinearAttention", [*QKV, STATE, DECAY, RATE], {**HEADS, "scale": 0.7}, 2, label="gated delta"
    ),
    VendorCase("LinearAttentionGate", [draw(1, 3, 4), draw(4), -np.abs(draw(4))]),
    VendorCase(
        "LinearAttentionGate",
        [draw(1, 3, 4), draw(4), -np.abs(draw(4)), draw(1, 3, 4)],
        outputs=2,
        label="rate",
    ),
    VendorCase("CausalConvWithState", [draw(1, 3, 6), draw(3, 1, 4)], outputs=2),
    VendorCase(
        "CausalConvWithState",
        [draw(1, 3, 6), draw(3, 1, 4), draw(3), draw(1, 3, 3)],
        {"activation": "silu"},
        2,
        label="state",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees(case: VendorCase) -> None:
    assert_agrees(case)
