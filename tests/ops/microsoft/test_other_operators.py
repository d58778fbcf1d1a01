import numpy as np
import pytest

from ops.microsoft.judge import VendorCase, assert_agrees, assert_native_agrees, run
from sardonyx._src.ir import SparseTensor, Tensor
from sardonyx._src.ops.microsoft.kernels import murmur_hash_32, sparse_kernel

RNG = np.random.default_rng(10)


def draw(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def whole(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


IMAGE, ROIS = (
    draw(2, 3, 7, 9),
    np.array([[0, 0, 1, 1], [0.2, 0.1, 0.8, 0.7], [-0.2, 0.3, 0.5, 1.3]], np.float32),
)
PICKS, SIZE = np.array([0, 1, 1], np.int32), np.array([4, 5], np.int32)
CROP = "CropAndResize"
WORDS = np.array([[3, 1, 4, 1, 5], [2, 6, 5, 0, 0], [3, 5, 0, 0, 0]], np.int32)
TWINS = [
    VendorCase("ExpandDims", [draw(2, 3), np.array(1, np.int32)]),
    VendorCase("ExpandDims", [draw(2, 3), np.array(-1, np.int32)], label="from the back"),
    VendorCase("GatherND", [draw(3, 4), np.array([[0, 1], [2, 3]], np.int32)]),
    VendorCase("GridSample", [draw(1, 2, 4, 4), draw(1, 3, 3, 2)], {"padding_mode": "border"}),
    VendorCase("Pad", [draw(2, 3), whole(1, 0, 0, 2)]),
    VendorCase(
        "Pad", [draw(2, 3), whole(1, 0, 0, 2).reshape(1, 4), np.array([7], np.float32)], label="value"
    ),
    VendorCase("Pad", [draw(4, 4), whole(1, 2, 0, 1)], {"mode": "reflect"}, label="reflect"),
    VendorCase("Range", [np.array([1], np.float32), np.array([2], np.float32), np.array([0.25], np.float32)]),
    VendorCase("Range", [np.array(3), np.array(7)], label="no step"),
    VendorCase("SampleOp", [draw(3)]),
    VendorCase("Trilu", [draw(2, 4, 4)]),
    VendorCase("Trilu", [draw(4, 5), np.array(-1)], {"upper": 0}, label="lower"),
    VendorCase("Unique", [np.array([2, 1, 1, 3, 4, 3], np.float32)], outputs=3),
    VendorCase("ScaledSiLU", [draw(3, 4)], {"alpha": 0.5}),
    VendorCase("ScaledSiLU", [draw(3, 4), np.array(2.0, np.float32)], label="scale"),
    VendorCase("GatedAdd", [draw(3, 4), draw(3, 4), draw(3, 1)]),
    VendorCase("GatedRMSNorm", [draw(2, 3, 8), draw(4), draw(2, 3, 8)]),
    VendorCase("GatedRMSNorm", [draw(2, 8), draw(8), draw(2, 8)], {"activation": "sigmoid"}, label="sigmoid"),
    VendorCase("BranchwiseRMSNorm", [draw(2, 3, 8), draw(3, 8)]),
    VendorCase("BranchwiseRMSNorm", [draw(2, 24), draw(24)], {"num_branches": 3}, label="flat"),
    VendorCase("BranchwiseRMSNorm", [draw(2, 3, 8), draw(8)], label="one scale"),
    VendorCase("BranchwiseRMSNorm", [draw(2, 3, 8)], label="no scale"),
]
ARRAYS = [
    VendorCase("CDist", [draw(4, 3), draw(5, 3)]),
    VendorCase("CDist", [draw(4, 3), draw(5, 3)], {"metric": "euclidean"}, label="euclidean"),
    VendorCase("UnfoldTensor", [draw(2, 9)], {"size": 3, "step": 2}),
    VendorCase("UnfoldTensor", [draw(2, 7, 3)], {"size": 2, "dim": 1}, label="inner"),
    VendorCase(
        "NGramRepeatBlock", [whole(1, 2, 3, 1, 2, 4, 5, 6, 4, 5).reshape(2, 5), draw(2, 8)], {"ngram_size": 3}
    ),
    VendorCase("NGramRepeatBlock", [whole(1, 2).reshape(1, 2), draw(1, 8)], {"ngram_size": 3}, label="short"),
    VendorCase(
        "ConvTransposeWithDynamicPads",
        [draw(1, 2, 4, 4), draw(2, 3, 3, 3), whole(1, 0, 1, 2)],
        {"strides": [2, 2]},
    ),
    VendorCase(CROP, [IMAGE, ROIS, PICKS, SIZE]),
    VendorCase(
        CROP, [IMAGE, ROIS, PICKS, SIZE], {"extrapolation_value": 2.0, "mode": "nearest"}, label="nearest"
    ),
    VendorCase(CROP, [IMAGE, ROIS, PICKS, np.array([1, 3], np.int32)], label="one row"),
    VendorCase("WordConvEmbedding", [WORDS, draw(4, 1, 2, 6), draw(4), draw(9, 6)]),
    VendorCase("Inverse", [draw(2, 3, 3)], rtol=1e-3, standard=False),
    VendorCase("DynamicTimeWarping", [np.abs(draw(5, 7))], standard=False),
    VendorCase("MurmurHash3", [np.array(["", "a", "word", "longer"], object)], {"seed": 7}, standard=False),
    VendorCase("MurmurHash3", [whole(1, -5, 1 << 40)], {"positive": 0}, standard=False, label="numbers"),
]
CASES = [*TWINS, *ARRAYS]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees(case: VendorCase) -> None:
    assert_agrees(case)


@pytest.mark.parametrize("case", [case for case in CASES[::3] if "Hash" not in case.op], ids=str)
def test_native(case: VendorCase) -> None:
    assert_native_agrees(case)


@pytest.mark.parametrize("length", [8, 10])
def test_fourier_transforms_are_those_of_numpy(length: int) -> None:
    """onnxruntime has no CPU kernels for them."""
    x = draw(3, length)
    spectrum = run(VendorCase("Rfft", [x], {"signal_ndim": 1, "onesided": 1, "normalized": 0}))
    expected = np.fft.rfft(x)
    np.testing.assert_allclose(spectrum[..., 0] + 1j * spectrum[..., 1], expected, 1e-4, 1e-5)
    back = run(VendorCase("Irfft", [spectrum], {"signal_ndim": 1, "onesided": 1, "normalized": 0}))
    np.testing.assert_allclose(back, x, 1e-4, 1e-5)


def test_hashes_are_those_of_the_reference_implementation() -> None:
    assert murmur_hash_32(b"", 1) == 0x514E28B7
    assert murmur_hash_32(b"Hello, world!", 0x9747B28C) == 0x24884CBA


def test_a_sparse_product_is_the_dense_one() -> None:
    """onnxruntime's Python interface takes no sparse tensors."""
    b = draw(5, 4)
    sparse = SparseTensor(Tensor.of(np.array([2.0, 3.0], np.float32)), Tensor.of(np.array([1, 6])), (2, 4))
    dense = np.array([[0, 2, 0, 0], [0, 0, 3, 0]], np.float32)
    product = sparse_kernel(sparse, b, alpha=2.0, transA=0, transB=1)
    np.testing.assert_allclose(product, 2 * dense @ b.T, 1e-5)
