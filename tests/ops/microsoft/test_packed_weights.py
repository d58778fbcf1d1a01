"""Weights of few bits: every width, zero points packed and not, block sizes that do not divide the length."""

import ml_dtypes
import numpy as np
import pytest

from ops.microsoft.judge import VendorCase, assert_agrees, assert_native_agrees, run

RNG = np.random.default_rng(7)


def draw(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def codes(*shape: int) -> np.ndarray:
    return RNG.integers(0, 256, shape).astype(np.uint8)


def product(bits: int, inner: int, block: int, zeros: str = "", **more: object) -> VendorCase:
    rows, blocks = 5, -(-inner // block)
    inputs: list[np.ndarray | None] = [
        draw(2, 3, inner),
        codes(rows, blocks, block * bits // 8),
        draw(rows, blocks),
    ]
    packed = codes(rows, -(-blocks * bits // 8))
    inputs += {"": [], "packed": [packed], "float": [draw(rows, blocks)]}[zeros]
    attributes = {"K": inner, "N": rows, "bits": bits, "block_size": block}
    if more.get("group"):
        inputs += [None] * (4 - len(inputs)) + [(RNG.permutation(inner) // block).astype(np.int32)]
    if more.get("bias"):
        inputs += [None] * (5 - len(inputs)) + [draw(rows)]
    label = f"{bits} bits, {inner} by {block} {zeros} {' '.join(more)}".strip()
    return VendorCase("MatMulNBits", inputs, attributes, rtol=1e-3, atol=1e-2, label=label)


def bnb4(kind: int) -> VendorCase:
    inputs = [draw(3, 32), codes(32 * 5 // 2), np.abs(draw(32 * 5 // 16))]
    attributes = {"K": 32, "N": 5, "block_size": 16, "quant_type": kind}
    return VendorCase("MatMulBnb4", inputs, attributes, label=("FP4", "NF4")[kind])


def lookup(bits: int, *, has_zeros: bool) -> VendorCase:
    inputs = [codes(6, 64 * bits // 8), np.array([[1, 5], [0, 2]]), draw(6, 4)]
    if has_zeros:
        inputs.append(codes(6, 4 * bits // 8))
    label = f"{bits} bits{' zeros' * has_zeros}"
    return VendorCase("GatherBlockQuantized", inputs, {"bits": bits, "block_size": 16}, label=label)


INT4 = RNG.integers(-8, 8, (6, 32)).astype(ml_dtypes.int4)
UINT4 = RNG.integers(0, 16, (3, 32, 4)).astype(ml_dtypes.uint4)
CASES = [
    product(4, 32, 16),
    product(4, 64, 32, "packed"),
    product(4, 40, 16, "packed"),
    product(4, 64, 16, "float"),
    product(4, 64, 32, "packed", bias=True),
    product(8, 64, 32),
    product(8, 64, 32, "packed"),
    product(2, 64, 32),
    product(2, 64, 16, "packed"),
    product(4, 64, 16, "", group=True),
    product(4, 64, 16, "float", group=True),
    bnb4(0),
    bnb4(1),
    *(lookup(bits, has_zeros=z) for bits in (4, 8) for z in (False, True)),
    VendorCase(
        "GatherBlockQuantized", [INT4, np.array([3, 0]), draw(6, 2)], {"block_size": 16}, label="int4"
    ),
    VendorCase(
        "GatherBlockQuantized",
        [UINT4, np.array([[3, 0]]), draw(3, 2, 4), UINT4[:, :2].copy()],
        {"block_size": 16, "quantize_axis": 1, "gather_axis": 2},
        label="uint4, other axes",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees(case: VendorCase) -> None:
    assert_agrees(case)


@pytest.mark.parametrize("case", CASES[::4], ids=str)
def test_native(case: VendorCase) -> None:
    assert_native_agrees(case)


def test_packed_zero_points_count_beside_group_indices() -> None:
    """onnxruntime's CPU kernel takes 8 for them there."""
    case = product(4, 64, 16, "packed", group=True)
    a, b, scales, packed, group = (x for x in case.inputs if x is not None)
    values, zeros = (
        np.stack([x & 15, x >> 4], axis=-1).reshape(5, -1).astype(np.float32) for x in (b, packed)
    )
    weights = (values - zeros[:, group]) * scales[:, group]
    np.testing.assert_allclose(run(case), a @ weights.T, 1e-4, 1e-3)
