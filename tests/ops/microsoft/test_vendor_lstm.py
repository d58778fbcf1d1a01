"""AttnLSTM and DynamicQuantizeLSTM."""

import numpy as np
import pytest

from ops.microsoft.judge import VendorCase, assert_agrees, assert_native_agrees

RNG = np.random.default_rng(14)
T, B, INPUT, H = 5, 3, 6, 4  # length, batch, input, hidden


def draw(*shape: int) -> np.ndarray:
    return (RNG.normal(size=shape) * 0.5).astype(np.float32)


def whole(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


X, LENGTHS = draw(T, B, INPUT), whole(5, 3, 1)
QUANTIZED = "DynamicQuantizeLSTM"
SIZE = {"hidden_size": H}


def weights(directions: int, dtype: type = np.int8) -> list[np.ndarray]:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    shapes = (directions, INPUT, 4 * H), (directions, H, 4 * H)
    return [RNG.integers(low, high, shape).astype(dtype) for shape in shapes]


def scales(directions: int, dtype: type = np.int8, *more: int, zero: int = 0) -> list[np.ndarray]:
    """Scale and zero point of W, and of R."""
    shape = (directions, *more)
    arrays: list[np.ndarray] = []
    for _ in ("W", "R"):
        arrays += [RNG.uniform(0.005, 0.02, shape).astype(np.float32), np.full(shape, zero, dtype)]
    return arrays


def quantized(
    directions: int, *middle: np.ndarray | None, scaling: list[np.ndarray], dtype: type = np.int8
) -> list[np.ndarray | None]:
    rest = [None] * (5 - len(middle))
    return [X, *weights(directions, dtype), *middle, *rest, *scaling]


TWO = {**SIZE, "direction": "bidirectional"}
QUANTIZED_CASES = [
    VendorCase(QUANTIZED, quantized(1, scaling=scales(1)), SIZE, 3),
    VendorCase(QUANTIZED, quantized(1, draw(1, 8 * H), scaling=scales(1)), SIZE, 3, label="bias"),
    VendorCase(
        QUANTIZED,
        quantized(1, scaling=scales(1, np.uint8, zero=120), dtype=np.uint8),
        {**SIZE, "direction": "reverse"},
        3,
        label="unsigned",
    ),
    VendorCase(QUANTIZED, quantized(2, scaling=scales(2, np.int8, 4 * H)), TWO, 3, label="columns"),
    VendorCase(
        QUANTIZED,
        quantized(1, draw(1, 8 * H), None, draw(1, B, H), draw(1, B, H), draw(1, 3 * H), scaling=scales(1)),
        {**SIZE, "clip": 0.4, "input_forget": 1},
        3,
        label="everything",
    ),
    VendorCase(QUANTIZED, quantized(2, None, LENGTHS, scaling=scales(2)), TWO, 3, label="lengths"),
    VendorCase(
        QUANTIZED, quantized(1, None, whole(4, 2, 0), scaling=scales(1)), SIZE, 3, label="short lengths"
    ),
]
LSTM, SIZE_OF_KEYS, DEPTH, STEPS, ATTENTION = "AttnLSTM", 7, 6, 8, 5


def attending(
    directions: int,
    *,
    layer: bool = False,
    lengths: np.ndarray | None = None,
    memory_lengths: np.ndarray | None = None,
) -> list[np.ndarray | None]:
    """The attention layer makes an attention state of another size than the memory's depth."""
    columns = INPUT + (ATTENTION if layer else DEPTH)
    return [
        *(X, draw(directions, 4 * H, columns), draw(directions, 4 * H, H), draw(directions, 8 * H), lengths),
        *(draw(directions, B, H), draw(directions, B, H), draw(directions, 3 * H)),
        *(
            draw(directions, H, SIZE_OF_KEYS),
            draw(directions, DEPTH, SIZE_OF_KEYS),
            draw(directions, SIZE_OF_KEYS),
        ),
        *(draw(B, STEPS, DEPTH), memory_lengths),
        draw(directions, H + DEPTH, ATTENTION) if layer else None,
    ]


ATTENDING_CASES = [
    VendorCase(LSTM, attending(1), SIZE, 3, standard=False),
    VendorCase(LSTM, attending(1, layer=True), SIZE, 3, standard=False, label="layer"),
    VendorCase(LSTM, attending(2, layer=True), TWO, 3, standard=False, label="both"),
    VendorCase(
        LSTM,
        attending(2, layer=True, lengths=LENGTHS, memory_lengths=whole(8, 2, 5)),
        TWO,
        3,
        standard=False,
        label="lengths",
    ),
    VendorCase(
        LSTM,
        attending(1),
        {**SIZE, "direction": "reverse", "clip": 0.5, "activations": ["HardSigmoid", "Relu", "Tanh"]},
        3,
        standard=False,
        label="activations",
    ),
]


@pytest.mark.parametrize("case", [*QUANTIZED_CASES, *ATTENDING_CASES], ids=str)
def test_agrees(case: VendorCase) -> None:
    assert_agrees(case)


@pytest.mark.parametrize("case", [QUANTIZED_CASES[1], QUANTIZED_CASES[3], ATTENDING_CASES[3]], ids=str)
def test_native_agrees(case: VendorCase) -> None:
    assert_native_agrees(case)
