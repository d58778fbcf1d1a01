import numpy as np
import pytest

from ops.microsoft.judge import VendorCase, assert_agrees, assert_native_agrees

RNG = np.random.default_rng(9)
T, E, H, W = 5, 4, 32, 16  # tokens, experts, widths


def draw(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32) * np.float32(0.5)


def codes(*shape: int) -> np.ndarray:
    return RNG.integers(0, 256, shape).astype(np.uint8)


X, ROUTER = draw(T, H), draw(T, E)
PLAIN = [X, ROUTER, draw(E, W, H), draw(E, W), draw(E, H, W), draw(E, H)]
FUSED = [X, ROUTER, draw(E, 2 * W, H), draw(E, 2 * W), draw(E, H, W), draw(E, H)]
SWIGLU = {
    "activation_type": "swiglu",
    "swiglu_limit": 1.0,
    "activation_alpha": 1.7,
    "activation_beta": 1.0,
    "k": 2,
}


def quantized(bits: int, block: int = 0, **more: object) -> VendorCase:
    first, second = (1, 1) if not block else (H // block, W // block)
    shapes = [(E, W), (E, H)] if not block else [(E, W, first), (E, H, second)]
    s1, s2 = (np.abs(draw(*shape)) * np.float32(0.05) for shape in shapes)
    inputs = [
        X,
        ROUTER,
        codes(E, W, H * bits // 8),
        s1,
        draw(E, W),
        codes(E, H, W * bits // 8),
        s2,
        draw(E, H),
    ]
    attributes = {
        "k": 2,
        "expert_weight_bits": bits,
        "activation_type": "silu",
        "normalize_routing_weights": 1,
    }
    if block:
        attributes["block_size"] = block
    label = f"{bits} bits by {block or 'row'}"
    return VendorCase("QMoE", inputs, attributes, rtol=2e-2, atol=2e-2, label=label)


CASES = [
    VendorCase("MoE", PLAIN, {"k": 2}),
    VendorCase(
        "MoE",
        [draw(1, T, H), *PLAIN[1:3], None, PLAIN[4]],
        {"k": 1, "activation_type": "gelu"},
        label="rank 3",
    ),
    VendorCase(
        "MoE", PLAIN, {"k": 2, "activation_type": "silu", "normalize_routing_weights": 1}, label="silu"
    ),
    VendorCase("MoE", PLAIN, {"k": 3, "activation_type": "identity"}, label="identity"),
    VendorCase("MoE", FUSED, {**SWIGLU, "swiglu_fusion": 1}, label="swiglu"),
    quantized(4),
    quantized(8),
    quantized(4, 16),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees(case: VendorCase) -> None:
    assert_agrees(case)


@pytest.mark.parametrize("case", CASES[::4], ids=str)
def test_native(case: VendorCase) -> None:
    assert_native_agrees(case)
