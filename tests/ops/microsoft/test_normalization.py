import numpy as np
import pytest

from ops.microsoft.judge import VendorCase, assert_agrees, assert_native_agrees

RNG = np.random.default_rng(2)


def draw(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


X, SKIP, GAMMA, BETA, BIAS = draw(2, 3, 8), draw(2, 3, 8), draw(8), draw(8), draw(8)
IDS = RNG.integers(0, 10, (2, 4)).astype(np.int32)
SEGMENTS = RNG.integers(0, 2, (2, 4)).astype(np.int32)
WORDS, POSITIONS, PARTS = draw(10, 8), draw(6, 8), draw(2, 8)
MASK = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
PLACES = np.array([[3, 2, 1, 0]], np.int32)
TABLES = [WORDS, POSITIONS, PARTS, GAMMA, BETA]
SIMPLIFIED = "SimplifiedLayerNormalization"

CASES = [
    VendorCase("SkipLayerNormalization", [X, SKIP, GAMMA], label="no beta"),
    VendorCase("SkipLayerNormalization", [X, SKIP, GAMMA, BETA], {"epsilon": 1e-3}),
    VendorCase("SkipLayerNormalization", [X, SKIP[0], GAMMA, BETA, BIAS], label="broadcast"),
    VendorCase("SkipSimplifiedLayerNormalization", [X, SKIP, GAMMA], {"epsilon": 1e-3}),
    VendorCase("SkipSimplifiedLayerNormalization", [X, SKIP, GAMMA, BIAS], label="bias"),
    VendorCase("SkipSimplifiedLayerNormalization", [X[0], SKIP[0], GAMMA], label="rank 2"),
    VendorCase(SIMPLIFIED, [X, GAMMA], {"epsilon": 1e-3}, domain=""),
    VendorCase(SIMPLIFIED, [X, draw(3, 8)], {"axis": 1}, domain="", label="two axes"),
    VendorCase(SIMPLIFIED, [X, GAMMA], {"axis": 2}, 2, domain="", label="deviation"),
    VendorCase("EmbedLayerNormalization", [IDS, SEGMENTS, *TABLES], outputs=2),
    VendorCase("EmbedLayerNormalization", [IDS, SEGMENTS, *TABLES, MASK], outputs=3, label="mask"),
    VendorCase(
        "EmbedLayerNormalization", [IDS, SEGMENTS, *TABLES, MASK, PLACES], outputs=3, label="positions"
    ),
    VendorCase(
        "EmbedLayerNormalization",
        [IDS, None, WORDS, POSITIONS, None, GAMMA, BETA],
        outputs=2,
        label="no segments",
    ),
]

QTABLES = [RNG.integers(0, 256, table.shape).astype(np.uint8) for table in TABLES]
SCALES = [np.array(0.01 * (i + 1), np.float32) for i in range(5)]
ZEROS = [np.array(120 + i, np.uint8) for i in range(5)]
CASES += [
    VendorCase("QEmbedLayerNormalization", [IDS, SEGMENTS, *QTABLES, MASK, *SCALES, *ZEROS], outputs=2),
    VendorCase(
        "QEmbedLayerNormalization",
        [IDS, SEGMENTS, *QTABLES, None, *SCALES, *ZEROS],
        outputs=2,
        label="no mask",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees(case: VendorCase) -> None:
    assert_agrees(case)


@pytest.mark.parametrize("case", CASES[1::3], ids=str)
def test_native(case: VendorCase) -> None:
    assert_native_agrees(case)


@pytest.mark.parametrize("op", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
def test_sum_is_the_last_output(op: str) -> None:
    has_beta = op == "SkipLayerNormalization"
    case = VendorCase(
        op, [X, SKIP, GAMMA, *([BETA] * has_beta), BIAS], outputs=4, unwritten=() if has_beta else (1, 2)
    )
    assert_agrees(case)
