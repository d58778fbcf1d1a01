"""Cases that emulated machines run: kernels of each kind, small shared models, and what the sources draw of official cases and
random graphs."""

from __future__ import annotations

import os
import pickle
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

import sardonyx as sx
from cases import assert_fits, type_of
from compile.random_layers import sample
from conformance.official import OfficialCase, assert_close, official_cases
from conformance.test_shared_models import MODELS as SHARED_MODELS
from conformance.test_shared_models import assert_outputs_equal, reference
from sardonyx._src.ir import Array
from shares import sources_seed

ModelAndFeeds: TypeAlias = tuple[sx.ir.Model, dict[str, object]]
OFFICIAL_CASES = int(os.environ.get("EMULATED_CASES", "24"))
GRAPHS = int(os.environ.get("EMULATED_GRAPHS", "4"))
SHARED_BYTES = int(os.environ.get("EMULATED_BYTES", "100_000"))  # of the largest shared model
LEFT_OUT = (
    "bernoulli",
    "random",
    "dropout",
    "multinomial",
    "image_decoder",
)  # no values, or packages of their own


@dataclass(frozen=True)
class Case:
    """A model with feeds, the expected outputs by name, and an assertion that an output equals the expected one."""

    name: str
    model: sx.ir.Model
    feeds: dict[str, object]
    expected: dict[str, object]
    assert_equal: Callable[[object, object], None]


def cases() -> Iterator[Case]:
    yield from kernel_cases()
    yield from shared_cases()
    yield from random_cases(GRAPHS)
    yield from drawn_cases(OFFICIAL_CASES)


# --- kernels of each kind ----------------------------------------------------------------------


def kernel_cases() -> Iterator[Case]:
    """Models whose kernels are those of networks; the reference engine computes the expected values."""
    for name, build in MODELS.items():
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        builder = sx.Builder(opset=21)
        model, feeds = build(builder, rng)
        expected = sx.Session(model, engine="reference").run(feeds)
        yield Case(name, model, feeds, dict(expected), assert_nearly_equal)


def assert_nearly_equal(actual: object, expected: object) -> None:
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-4, atol=1e-4)


def product(b: sx.Builder, rng: np.random.Generator) -> ModelAndFeeds:
    """A product of matrices, whose epilogue calls vector functions, and a softmax."""
    x = b.input("x", "float32", ["N", 67])
    y = x @ normal(rng, 67, 70) + normal(rng, 70)
    return b.model(y=b.Softmax(b.Gelu(y), axis=-1), z=b.Tanh(b.Exp(b.Sin(y)))), {"x": normal(rng, 13, 67)}


def convolutions(b: sx.Builder, rng: np.random.Generator) -> ModelAndFeeds:
    """Direct, Winograd, depthwise and strided convolutions, and pooling."""
    x = b.input("x", "float32", [1, 8, 19, 21])
    y = b.Relu(b.Conv(x, normal(rng, 16, 8, 3, 3), pads=[1] * 4))
    y = b.Conv(y, normal(rng, 16, 1, 3, 3), group=16, pads=[1] * 4)
    y = b.Conv(y, normal(rng, 12, 16, 1, 1), strides=[2, 2])
    return b.model(y=b.AveragePool(y, kernel_shape=[3, 3]), z=b.ReduceMean(y, [2, 3])), {
        "x": normal(rng, 1, 8, 19, 21)
    }


def integers(b: sx.Builder, rng: np.random.Generator) -> ModelAndFeeds:
    """Products of bytes, with the extreme ones, by a matrix of the run and by constants."""
    x, s = b.input("x", "uint8", ["N", 67]), b.input("s", "int8", ["N", 67])
    w = b.input("w", "int8", [67, 70])
    bytes_of_a = rng.choice([0, 1, 127, 128, 255], (13, 67)).astype(np.uint8)
    bytes_of_b, constant = rng.choice([-128, -127, -1, 0, 127], (2, 67, 70)).astype(np.int8)
    y = b.MatMulInteger(x, w, np.uint8(200))
    z = b.MatMulInteger(x, constant, np.uint8(200))
    signed = b.MatMulInteger(s, constant, np.int8(-3))
    feeds = {"x": bytes_of_a, "s": bytes_of_a.view(np.int8), "w": bytes_of_b}
    return b.model(y=y, z=z, signed=signed), feeds


def quantized(b: sx.Builder, rng: np.random.Generator) -> ModelAndFeeds:
    """A convolution of dequantized bytes; all values are sums of powers of two, so that no order of a sum matters."""
    scale, zero = np.float32(0.5), np.uint8(120)
    weights = b.DequantizeLinear(
        rng.integers(-128, 128, (16, 8, 3, 3)).astype(np.int8), np.float32(0.25), np.int8(0)
    )
    x = b.input("x", "float32", [1, 8, 9, 9])
    image = b.DequantizeLinear(b.QuantizeLinear(x, scale, zero), scale, zero)
    y = b.QuantizeLinear(b.Conv(image, weights, pads=[1] * 4), np.float32(32), zero)
    return b.model(y=y), {"x": normal(rng, 1, 8, 9, 9) * 20}


def halves(b: sx.Builder, rng: np.random.Generator) -> ModelAndFeeds:
    """Conversions of float16 and bfloat16: subnormal numbers, ties, overflow, infinities."""
    x = b.input("x", "float32", ["N"])
    numbers = [1e-8, 5.96e-8, 6.1e-5, 65519.9, 65520, np.inf, -np.inf, 0, -0.0, *np.exp(normal(rng, 200) * 9)]
    wide = [b.Cast(b.Cast(x * 1.5, to=to), to="float32") for to in ("float16", "bfloat16")]
    return b.model(y=wide[0] + 0, z=wide[1] + 0), {"x": np.array(numbers, np.float32)}


def recurrence(b: sx.Builder, rng: np.random.Generator) -> ModelAndFeeds:
    """An LSTM, layer normalization, and products of a run's matrices."""
    x = b.input("x", "float32", ["T", 2, 20])
    hidden, _, _ = b.LSTM(x, normal(rng, 1, 96, 20), normal(rng, 1, 96, 24), hidden_size=24, outputs=3)
    rows = b.LayerNormalization(b.Squeeze(hidden, [1]), normal(rng, 24), axis=-1)
    return b.model(y=rows @ b.Transpose(rows, perm=[0, 2, 1])), {"x": normal(rng, 7, 2, 20)}


def selections(b: sx.Builder, rng: np.random.Generator) -> ModelAndFeeds:
    """TopK, gathers, resizing and cumulative sums."""
    x = b.input("x", "float32", [1, 3, 11, 13])
    values, places = b.TopK(b.Reshape(x, [-1]), [37])
    larger = b.Resize(x, None, None, [1, 3, 29, 17], mode="linear")
    return b.model(a=values, b=places, c=larger, d=b.CumSum(x, np.int64(3))), {"x": normal(rng, 1, 3, 11, 13)}


def normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


MODELS = {
    build.__name__: build
    for build in (product, convolutions, integers, quantized, halves, recurrence, selections)
}


# --- cases of others ---------------------------------------------------------------------------


def drawn_cases(count: int) -> Iterator[Case]:
    """Official cases of arrays with expected values, in the order that the sources draw."""
    drawn = sorted(
        official_cases(), key=lambda case: zlib.crc32(case.name.encode(), zlib.crc32(sources_seed()))
    )
    for case in drawn:
        if case.kind == "real" or any(word in case.name for word in LEFT_OUT):
            continue
        model = case.load()
        inputs, outputs = next(iter(case.data_sets(model)))
        if count and all(isinstance(value, np.ndarray) for value in (*inputs, *outputs)):
            count -= 1
            feeds = dict(zip([v.name for v in model.graph.inputs], inputs, strict=False))
            expected = dict(zip([v.name for v in model.graph.outputs], outputs, strict=True))
            yield Case(case.name, model, feeds, expected, partial(assert_official, case))


def assert_official(case: OfficialCase, actual: object, expected: object) -> None:
    assert_fits(type_of(expected), actual, case.name)  # type: ignore[arg-type]
    assert_close(actual, expected, case.rtol, case.atol, case.name)


def random_cases(count: int) -> Iterator[Case]:
    """Random graphs, from a seed that the sources draw; what they compute is compared with x86-64 alone."""
    first = zlib.crc32(sources_seed()) % 100_000
    for seed in range(first, first + count):
        drawn = sample(seed)
        yield Case(f"graph_{seed}", drawn.model, dict(drawn.feeds[0]), {}, assert_nearly_equal)


def shared_cases() -> Iterator[Case]:
    """The small shared models, with the stored outputs of onnxruntime."""
    for path in sorted(SHARED_MODELS.glob("*/model.onnx")):
        folder = path.parent
        if sum(file.stat().st_size for file in folder.glob("*.*")) <= SHARED_BYTES:
            feeds, expected = reference(folder)
            yield Case(folder.name, sx.load(path), feeds, expected, partial(assert_shared, folder.name))


def assert_shared(name: str, actual: object, expected: object) -> None:
    assert_outputs_equal(actual, expected, name)


def write_case(case: Case, folder: Path, classes: set[str]) -> bool:
    """Writes the feeds and the programs of a case; returns whether it compiles."""
    for name in sorted(classes):
        (folder / name).mkdir(exist_ok=True)
        try:
            sx.tools.compile(case.model, folder / name / f"{case.name}.sdx", processor=name)
        except sx.SardonyxError as error:
            print(f"{case.name} has no program: {error}")
            return False
    (folder / f"{case.name}.feeds").write_bytes(pickle.dumps(case.feeds))
    return True
