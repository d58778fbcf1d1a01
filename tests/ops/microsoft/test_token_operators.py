"""Hashes of n-grams, decoding that copies the source, and pooling with a mask."""

import numpy as np
import pytest

import sardonyx as sx
from ops.microsoft.judge import (
    VendorCase,
    assert_agrees,
    assert_native_agrees,
    feeds_of,
    run,
    run_onnxruntime,
    vendor_model,
)
from sardonyx._src.interp.interpreter import Interpreter

RNG = np.random.default_rng(11)


def whole(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


SOURCE, REPEATING = whole(1, 5, 3, 4, 2), whole(1, 2, 1, 3, 1, 2, 4)
DETECTOR = "BifurcationDetector"
DETECTIONS = [
    VendorCase(DETECTOR, [SOURCE, whole(0), np.array(0)], outputs=2, standard=False, label="nothing"),
    VendorCase(DETECTOR, [SOURCE, whole(0), whole(0), whole(1, 5, 3, 7, 9, 9)], {}, 2, standard=False),
    VendorCase(DETECTOR, [SOURCE, whole(0), whole(2), whole(3, 4, 2, 9)], {}, 2, standard=False, label="all"),
    VendorCase(
        DETECTOR, [REPEATING, whole(0, 3, 1, 2), whole(0)], {}, 2, standard=False, label="three tokens"
    ),
    VendorCase(DETECTOR, [REPEATING, whole(4), whole(0)], {}, 2, standard=False, label="end"),
    VendorCase(
        DETECTOR,
        [REPEATING, whole(1, 2), whole(0)],
        {"min_ngram_size": 2},
        2,
        standard=False,
        label="two places",
    ),
]
HASHING = {"max_ngram_size": 3, "n_head_per_ngram": 2, "pad_id": 7}
TOKENS, FACTORS, SIZES = (
    RNG.integers(0, 1000, (2, 5)),
    whole(1_000_003, 7_919, -104_729),
    whole(97, 101, 103, 107),
)
WIDE = RNG.integers(1 << 61, 1 << 62, 3)
PAST, OFFSETS, END = RNG.integers(0, 1000, (2, 2)), whole(0, 97, 198, 301), np.array(5)
TEXTS = np.array([[3, 5, 1, 2, 5], [5, 5, 8, 9, 1]])
SEGMENTS = np.array([[1, 1, 2, 2, 2], [3, 4, 4, 4, 5]], np.int32)
MAPPING = "NGramHashMapping"
HASHES = [
    VendorCase(MAPPING, [TOKENS, FACTORS, SIZES], HASHING, 2, standard=False),
    VendorCase(MAPPING, [TOKENS, WIDE, SIZES], HASHING, 2, standard=False, label="overflow"),
    VendorCase(
        MAPPING,
        [x.astype(np.int32) for x in (TOKENS, FACTORS * 1000, SIZES)],
        HASHING,
        2,
        standard=False,
        label="int32",
    ),
    VendorCase(MAPPING, [TOKENS, FACTORS, SIZES, PAST, OFFSETS], HASHING, 2, standard=False, label="past"),
    VendorCase(MAPPING, [TEXTS, FACTORS, SIZES, None, None, END], HASHING, 2, standard=False, label="end"),
    VendorCase(
        MAPPING,
        [TEXTS, FACTORS, SIZES, None, None, END],
        {**HASHING, "reset_on_eos": 1},
        2,
        standard=False,
        label="new texts",
    ),
    VendorCase(
        MAPPING,
        [TEXTS, FACTORS, SIZES, np.array([[1, 5], [5, 2]]), None, END],
        {**HASHING, "reset_on_eos": 1},
        2,
        standard=False,
        label="new texts with past",
    ),
    VendorCase(
        MAPPING,
        [TEXTS, FACTORS, SIZES, PAST, None, None, SEGMENTS],
        HASHING,
        2,
        standard=False,
        label="segments",
    ),
    VendorCase(
        MAPPING,
        [TEXTS, FACTORS, SIZES, PAST, OFFSETS, END, SEGMENTS],
        {**HASHING, "reset_on_eos": 1},
        2,
        standard=False,
        label="everything",
    ),
]
PACKED, BOUNDS = "VarlenNGramHashMapping", np.array([0, 4, 5, 10], np.int32)
PACKED_TEXT, PACKED_SEGMENTS = TEXTS.reshape(-1), SEGMENTS.reshape(-1)
PACKED_PAST, PAST_SEGMENTS = RNG.integers(0, 9, (3, 2)), np.array([[1, 1], [2, 2], [2, 3]], np.int32)
CAPTURES = {**HASHING, "state_update_capacity": 2}
PACKED_HASHES = [
    VendorCase(PACKED, [PACKED_TEXT, FACTORS, SIZES, BOUNDS], HASHING, 2, standard=False),
    VendorCase(
        PACKED,
        [PACKED_TEXT, FACTORS, SIZES, BOUNDS, PACKED_PAST, OFFSETS, END, PACKED_SEGMENTS, PAST_SEGMENTS],
        {**HASHING, "reset_on_eos": 1},
        3,
        standard=False,
        label="everything",
    ),
    VendorCase(
        PACKED,
        [PACKED_TEXT, FACTORS, SIZES, BOUNDS, None, None, None, PACKED_SEGMENTS],
        HASHING,
        3,
        standard=False,
        label="segments without past",
    ),
    VendorCase(
        PACKED,
        [
            *(PACKED_TEXT, FACTORS, SIZES, BOUNDS, PACKED_PAST, None, END, PACKED_SEGMENTS, PAST_SEGMENTS),
            np.array([1, 3, 2], np.int32),
        ],
        CAPTURES,
        4,
        standard=False,
        label="captures",
    ),
]
POOL, LINE, IMAGE, CUBE = (
    "MaxpoolWithMask",
    RNG.normal(size=(2, 3, 9)).astype(np.float32),
    RNG.normal(size=(2, 3, 7, 8)).astype(np.float32),
    RNG.normal(size=(1, 2, 5, 4, 6)).astype(np.float32),
)


def mask(*shape: int) -> np.ndarray:
    return (RNG.random(shape) < 0.7).astype(np.int32)


POOLS = [
    VendorCase(POOL, [LINE, mask(1, 1, 9)], {"kernel_shape": [3], "pads": [1, 1]}, standard=False),
    VendorCase(POOL, [LINE, 0 * mask(1, 1, 9)], {"kernel_shape": [2]}, standard=False, label="masked"),
    VendorCase(
        POOL,
        [IMAGE, mask(1, 1, 7, 8)],
        {"kernel_shape": [3, 2], "strides": [2, 1]},
        standard=False,
        label="2-D",
    ),
    VendorCase(
        POOL,
        [IMAGE, mask(1, 1, 7, 8)],
        {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER", "strides": [2, 2]},
        standard=False,
        label="one mask",
    ),
    VendorCase(
        POOL, [IMAGE, 0 * mask(2, 3, 7, 8)], {"kernel_shape": [2, 2]}, standard=False, label="2-D masked"
    ),
    VendorCase(POOL, [CUBE, mask(1, 1, 5, 4, 6)], {"kernel_shape": [2, 2, 3]}, standard=False, label="3-D"),
]
CASES = [*DETECTIONS, *HASHES, *PACKED_HASHES, *POOLS]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees(case: VendorCase) -> None:
    assert_agrees(case)


@pytest.mark.parametrize("case", [DETECTIONS[1], HASHES[-1], PACKED_HASHES[1], POOLS[2]], ids=str)
def test_native_agrees(case: VendorCase) -> None:
    assert_native_agrees(case)


def test_every_channel_has_its_own_mask() -> None:
    """As onnxruntime computes each channel alone; of several, its kernel reads the masks from other places."""
    masks = mask(*IMAGE.shape)
    case = VendorCase(POOL, [IMAGE, masks], {"kernel_shape": [3, 2]})
    result = run(case)
    for i in np.ndindex(2, 3):
        single = VendorCase(POOL, [IMAGE[i][None, None], masks[i][None, None]], case.attributes)
        (expected,) = run_onnxruntime(vendor_model(single), feeds_of(single))
        np.testing.assert_array_equal(result[i], expected[0, 0])


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (VendorCase(DETECTOR, [SOURCE, whole(0), whole(6), whole(1)], {}, 2), "pred_tokens must have"),
        (VendorCase(MAPPING, [TOKENS, FACTORS, SIZES[:3]], HASHING), "vocab_sizes must be 4"),
        (VendorCase(MAPPING, [TOKENS, FACTORS, 0 * SIZES], HASHING), "vocab_sizes must be 4 positive"),
        (VendorCase(MAPPING, [TOKENS, FACTORS, SIZES, PAST[:, :1]], HASHING), "past_ids must have shape"),
        (
            VendorCase(PACKED, [PACKED_TEXT, FACTORS, SIZES, BOUNDS[:2]], HASHING),
            "cumulative_sequence_length",
        ),
        (VendorCase(PACKED, [PACKED_TEXT, FACTORS, SIZES, BOUNDS], CAPTURES), "capture_count"),
        (VendorCase(POOL, [LINE, mask(2, 3, 8)], {"kernel_shape": [3]}), "the mask must have"),
    ],
    ids=str,
)
def test_operands_that_do_not_fit_are_refused(case: VendorCase, message: str) -> None:
    feeds = {f"x{i}": x for i, x in enumerate(case.inputs) if x is not None}
    with pytest.raises(sx.EvaluationError, match=message):
        Interpreter(vendor_model(case)).run(feeds)
