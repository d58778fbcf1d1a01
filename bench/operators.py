"""How fast are operators whose results depend on data, and rare ones, on one core, compared with onnxruntime?

Each model has one node.  Both engines run it on the same inputs in one process, in turn; times are medians, and a ratio is
onnxruntime's time over ours.  The last column is the number of nodes that run as reference kernels.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import sardonyx as sx
from latency import MEDIANS, Method, header, line, print_timing, ratio, spread_text
from sardonyx._src.ir import Array
from sardonyx._src.measure.engines import OURS, open_engine
from sardonyx._src.measure.timing import EngineTiming, measure_engines

JUDGE = "onnxruntime"
F = np.float32
SEED = 11
Draw = np.random.Generator
Feeds = dict[str, Array]


@dataclass(frozen=True)
class Operator:
    """A model of one node in ONNX text, without its header, and a function that draws its inputs."""

    text: str
    feeds: Callable[[Draw], Feeds]
    opset: int = 20

    def save(self, folder: Path) -> str:
        """Saves the model; returns its path."""
        path = folder / "operator.onnx"
        sx.save(sx.from_text(f'<ir_version: 9, opset_import: ["": {self.opset}]> {self.text}'), path)
        return str(path)


def floats(draw: Draw, *shape: int) -> Array:
    return draw.standard_normal(shape, F)


def boxes(draw: Draw, count: int, size: float) -> Array:
    """Boxes [1, count, 4] of random places and sizes in the unit square."""
    corner, extent = draw.random((1, count, 2), F), draw.random((1, count, 2), F) * F(size)
    return np.concatenate([corner, corner + extent], 2)


def suppression(count: int, classes: int, size: float, selected: int, score: float) -> Operator:
    def feeds(draw: Draw) -> Feeds:
        return {
            "boxes": boxes(draw, count, size),
            "scores": draw.random((1, classes, count), F) ** (4 if classes > 10 else 1),
            "most": np.array([selected]),
            "overlap": np.array([0.5], F),
            "score": np.array([score], F),
        }

    text = (
        "g (float[1,N,4] boxes, float[1,C,N] scores, int64[1] most, float[1] overlap, float[1] score) => (int64[S,3] y) "
        "{ y = NonMaxSuppression(boxes, scores, most, overlap, score) }"
    )
    return Operator(text, feeds)


def regions(draw: Draw, count: int, size: float) -> Feeds:
    corner = draw.random((count, 2), F) * F(size / 2)
    return {
        "rois": np.concatenate([corner, corner + draw.random((count, 2), F) * F(size / 2)], 1),
        "batch": np.zeros(count, np.int64),
    }


def grid_sample(mode: str) -> Operator:
    text = (
        "g (float[1,64,100,100] x, float[1,100,100,2] grid) => (float[1,64,100,100] y) "
        f'{{ y = GridSample <mode = "{mode}", padding_mode = "zeros"> (x, grid) }}'
    )
    return Operator(
        text,
        lambda draw: {"x": floats(draw, 1, 64, 100, 100), "grid": draw.random((1, 100, 100, 2), F) * 2 - 1},
    )


def einsum(equation: str, *shapes: tuple[int, ...]) -> Operator:
    names = [f"x{i}" for i in range(len(shapes))]
    inputs = ", ".join(
        f"float[{','.join(map(str, shape))}] {name}" for name, shape in zip(names, shapes, strict=True)
    )
    text = f'g ({inputs}) => (float y) {{ y = Einsum <equation = "{equation}"> ({", ".join(names)}) }}'
    text = text.replace("(float y)", "(float[] y)")
    return Operator(
        text, lambda draw: {name: floats(draw, *shape) for name, shape in zip(names, shapes, strict=True)}
    )


def fourier(length: int) -> Operator:
    text = f"g (float[8,{length},1] x) => (float[] y) {{ y = DFT <axis = 1> (x) }}"
    return Operator(text, lambda draw: {"x": floats(draw, 8, length, 1)}, opset=17)


OPERATORS: dict[str, Operator] = {
    "NonMaxSuppression, 20,000 small boxes": suppression(20_000, 1, 0.02, 20_000, 0.0),
    "NonMaxSuppression, 20,000 large boxes": suppression(20_000, 1, 0.2, 20_000, 0.0),
    "NonMaxSuppression, 8,400 boxes, 80 classes": suppression(8_400, 80, 0.1, 100, 0.5),
    "NonZero, 10^6 elements": Operator(
        "g (float[1000,1000] x) => (int64[2,N] y) { y = NonZero(x) }",
        lambda draw: {"x": (draw.random((1000, 1000)) < 0.3).astype(F)},
    ),
    "Compress, 10^6 elements": Operator(
        "g (float[1000000] x, bool[1000000] mask) => (float[N] y) { y = Compress(x, mask) }",
        lambda draw: {"x": floats(draw, 1_000_000), "mask": draw.random(1_000_000) < 0.3},
    ),
    "Compress, 10,000 rows of 100": Operator(
        "g (float[10000,100] x, bool[10000] mask) => (float[N,100] y) { y = Compress <axis = 0> (x, mask) }",
        lambda draw: {"x": floats(draw, 10_000, 100), "mask": draw.random(10_000) < 0.3},
    ),
    "Unique, 10^5 integers": Operator(
        "g (int64[100000] x) => (int64[N] y) { y = Unique(x) }",
        lambda draw: {"x": draw.integers(0, 5000, 100_000)},
    ),
    "Unique, 10,000 rows of 4": Operator(
        "g (int64[10000,4] x) => (int64[N,4] y, int64[M] a, int64[P] b) { y, a, b = Unique <axis = 0> (x) }",
        lambda draw: {"x": draw.integers(0, 8, (10_000, 4))},
    ),
    "ScatterND, 10,000 rows of 64": Operator(
        "g (float[20000,64] x, int64[10000,1] i, float[10000,64] u) => (float[20000,64] y) { y = ScatterND(x, i, u) }",
        lambda draw: {
            "x": floats(draw, 20_000, 64),
            "i": draw.integers(0, 20_000, (10_000, 1)),
            "u": floats(draw, 10_000, 64),
        },
    ),
    "ScatterND, sums of 10^5 elements": Operator(
        'g (float[300,300] x, int64[100000,2] i, float[100000] u) => (float[300,300] y) { y = ScatterND <reduction = "add"> (x, i, u) }',
        lambda draw: {
            "x": floats(draw, 300, 300),
            "i": draw.integers(0, 300, (100_000, 2)),
            "u": floats(draw, 100_000),
        },
    ),
    "ScatterElements, maxima of 10^5 elements": Operator(
        'g (float[1000,100] x, int64[1000,100] i, float[1000,100] u) => (float[1000,100] y) { y = ScatterElements <axis = 1, reduction = "max"> (x, i, u) }',
        lambda draw: {
            "x": floats(draw, 1000, 100),
            "i": draw.integers(0, 100, (1000, 100)),
            "u": floats(draw, 1000, 100),
        },
    ),
    "GatherND, 10^5 elements": Operator(
        "g (float[300,300] x, int64[100000,2] i) => (float[100000] y) { y = GatherND(x, i) }",
        lambda draw: {"x": floats(draw, 300, 300), "i": draw.integers(0, 300, (100_000, 2))},
    ),
    "Einsum bhid,bhjd->bhij": einsum("bhid,bhjd->bhij", (2, 8, 128, 64), (2, 8, 128, 64)),
    "Einsum bijc,cd->bdij": einsum("bijc,cd->bdij", (1, 64, 64, 96), (96, 64)),
    "Einsum bnchw,bcn->bhw": einsum("bnchw,bcn->bhw", (1, 8, 16, 64, 64), (1, 16, 8)),
    "Einsum bij->bi": einsum("bij->bi", (32, 128, 128)),
    "Einsum bii->bi": einsum("bii->bi", (32, 128, 128)),
    "Einsum ab,bc,cd->ad": einsum("ab,bc,cd->ad", (256, 128), (128, 256), (256, 64)),
    "DFT of 512": fourier(512),
    "DFT of 16,384": fourier(16_384),
    "DFT of 10,007, a prime": fourier(10_007),
    "STFT, 16,000 samples, frames of 400": Operator(
        "g (float[1,16000,1] x, float[400] w) => (float[] y) <int64 step = {160}, int64 length = {400}> { y = STFT(x, step, w, length) }",
        lambda draw: {"x": floats(draw, 1, 16_000, 1), "w": np.hanning(400).astype(F)},
        opset=17,
    ),
    "GridSample, linear": grid_sample("linear"),
    "GridSample, nearest": grid_sample("nearest"),
    "GridSample, cubic": grid_sample("cubic"),
    "RoiAlign, 200 regions": Operator(
        "g (float[1,64,50,50] x, float[200,4] rois, int64[200] batch) => (float[200,64,7,7] y) "
        "{ y = RoiAlign <output_height = 7, output_width = 7, sampling_ratio = 2> (x, rois, batch) }",
        lambda draw: {"x": floats(draw, 1, 64, 50, 50), **regions(draw, 200, 50)},
    ),
    "DeformConv, 64 channels of 56 x 56": Operator(
        "g (float[1,64,56,56] x, float[64,64,3,3] w, float[1,18,56,56] o) => (float[1,64,56,56] y) "
        "{ y = DeformConv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w, o) }",
        lambda draw: {
            "x": floats(draw, 1, 64, 56, 56),
            "w": floats(draw, 64, 64, 3, 3),
            "o": floats(draw, 1, 18, 56, 56),
        },
    ),
    "MatMulInteger, both sides computed": Operator(
        "g (uint8[4,128,64] a, int8[4,64,128] b, uint8 za, int8 zb) => (int32[4,128,128] y) { y = MatMulInteger(a, b, za, zb) }",
        lambda draw: {
            "a": draw.integers(0, 255, (4, 128, 64), np.uint8),
            "b": draw.integers(-128, 127, (4, 64, 128), np.int8),
            "za": np.array(7, np.uint8),
            "zb": np.array(3, np.int8),
        },
    ),
    "Gemm, an element of C for each row": Operator(
        "g (float[256,256] a, float[256,256] b, float[256,1] c) => (float[256,256] y) { y = Gemm(a, b, c) }",
        lambda draw: {"a": floats(draw, 256, 256), "b": floats(draw, 256, 256), "c": floats(draw, 256, 1)},
    ),
    "MatMul in float16, 256 rows": Operator(
        "g (float16[256,768] x) => (float16[256,3072] y) <int64[2] dims = {768, 3072}> "
        "{ w = ConstantOfShape <value = float16[1] {8479}> (dims)  y = MatMul(x, w) }",
        lambda draw: {"x": floats(draw, 256, 768).astype(np.float16)},
    ),
    "CumSum, rows of 1,000": Operator(
        "g (float[1000,1000] x) => (float[1000,1000] y) <int64 axis = {1}> { y = CumSum(x, axis) }",
        lambda draw: {"x": floats(draw, 1000, 1000)},
    ),
    "Col2Im": Operator(
        "g (float[1,576,3136] x) => (float[1,64,56,56] y) <int64[2] size = {56, 56}, int64[2] block = {3, 3}> "
        "{ y = Col2Im <pads = [1, 1, 1, 1]> (x, size, block) }",
        lambda draw: {"x": floats(draw, 1, 576, 3136)},
    ),
    "MaxUnpool": Operator(
        "g (float[1,64,56,56] x, int64[1,64,56,56] i) => (float[1,64,112,112] y) { y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i) }",
        lambda draw: {
            "x": floats(draw, 1, 64, 56, 56),
            "i": np.arange(64 * 56 * 56).reshape(1, 64, 56, 56) * 4,
        },
    ),
    "MaxPool with indices": Operator(
        "g (float[1,64,112,112] x) => (float[1,64,56,56] y, int64[1,64,56,56] i) { y, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }",
        lambda draw: {"x": floats(draw, 1, 64, 112, 112)},
    ),
    "Det, 1,000 of 4 x 4": Operator(
        "g (float[1000,4,4] x) => (float[1000] y) { y = Det(x) }",
        lambda draw: {"x": floats(draw, 1000, 4, 4)},
    ),
    "ReverseSequence": Operator(
        "g (float[200,16,64] x, int64[16] n) => (float[200,16,64] y) { y = ReverseSequence(x, n) }",
        lambda draw: {"x": floats(draw, 200, 16, 64), "n": draw.integers(1, 200, 16)},
    ),
    "BitShift": Operator(
        'g (uint32[1000000] x, uint32[1000000] n) => (uint32[1000000] y) { y = BitShift <direction = "LEFT"> (x, n) }',
        lambda draw: {
            "x": draw.integers(0, 1 << 30, 1_000_000, np.uint32),
            "n": draw.integers(0, 31, 1_000_000, np.uint32),
        },
    ),
    "Hardmax": Operator(
        "g (float[1000,1000] x) => (float[1000,1000] y) { y = Hardmax(x) }",
        lambda draw: {"x": floats(draw, 1000, 1000)},
    ),
    "LpNormalization": Operator(
        "g (float[1000,1000] x) => (float[1000,1000] y) { y = LpNormalization(x) }",
        lambda draw: {"x": floats(draw, 1000, 1000)},
    ),
    "Shrink": Operator(
        "g (float[1000,1000] x) => (float[1000,1000] y) { y = Shrink <lambd = 0.5> (x) }",
        lambda draw: {"x": floats(draw, 1000, 1000)},
    ),
    "Atan": Operator(
        "g (float[1000,1000] x) => (float[1000,1000] y) { y = Atan(x) }",
        lambda draw: {"x": floats(draw, 1000, 1000)},
    ),
    "EyeLike": Operator(
        "g (float[1000,1000] x) => (float[1000,1000] y) { y = EyeLike(x) }",
        lambda draw: {"x": floats(draw, 1000, 1000)},
    ),
    "AveragePool, three dims": Operator(
        "g (float[1,16,32,32,32] x) => (float[1,16,16,16,16] y) { y = AveragePool <kernel_shape = [2, 2, 2], strides = [2, 2, 2]> (x) }",
        lambda draw: {"x": floats(draw, 1, 16, 32, 32, 32)},
    ),
    "Conv, three dims": Operator(
        "g (float[1,8,16,32,32] x) => (float[1,16,16,32,32] y) <int64[5] dims = {16, 8, 3, 3, 3}> "
        "{ w = ConstantOfShape <value = float[1] {0.1}> (dims)  y = Conv <pads = [1, 1, 1, 1, 1, 1]> (x, w) }",
        lambda draw: {"x": floats(draw, 1, 8, 16, 32, 32)},
    ),
    "Conv, computed weights": Operator(
        "g (float[1,64,56,56] x, float[64,64,3,3] w) => (float[1,64,56,56] y) { y = Conv <pads = [1,1,1,1]> (x, w) }",
        lambda draw: {"x": floats(draw, 1, 64, 56, 56), "w": floats(draw, 64, 64, 3, 3)},
    ),
    "Conv, computed depthwise weights": Operator(
        "g (float[1,64,56,56] x, float[64,1,3,3] w) => (float[1,64,56,56] y) { y = Conv <pads = [1,1,1,1], group = 64> (x, w) }",
        lambda draw: {"x": floats(draw, 1, 64, 56, 56), "w": floats(draw, 64, 1, 3, 3)},
    ),
}


@dataclass(frozen=True)
class Result:
    name: str
    timings: dict[str, EngineTiming]
    fallback_nodes: int

    @property
    def ratio(self) -> float:
        """onnxruntime's time over ours; NaN if it does not run the model."""
        judge = self.timings.get(JUDGE)
        return MEDIANS.value(judge) / MEDIANS.value(self.timings[OURS]) if judge else math.nan


def measure(names: Iterable[str], turns: int = Method.turns) -> Iterator[Result]:
    """Measures every operator; prints a line for each engine."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            path, feeds = (
                OPERATORS[name].save(Path(folder)),
                OPERATORS[name].feeds(np.random.default_rng(SEED)),
            )
            engines = [JUDGE, OURS] if runs_with(JUDGE, path, feeds) else [OURS]
            timings = {t.engine: t for t in measure_engines(path, engines, 1, feeds, turns)}
            for timing in timings.values():
                print_timing(name, timing)
            yield Result(name, timings, sx.Session(path, engine="native", threads=1).stats.fallback_nodes)


def runs_with(engine: str, path: str, feeds: Feeds) -> bool:
    try:
        list(open_engine(engine, path, 1)(feeds))
    except sx.SardonyxError:
        return False
    return True


def section(results: Iterable[Result] | None = None) -> str:
    """The table for docs/generated/benchmarks.md."""
    lines = [header("operator", f"{OURS}, ms", f"{JUDGE}, ms", "ratio", "difference", "reference kernels")]
    for result in measure(OPERATORS) if results is None else results:
        texts = (spread_text(result.timings.get(engine), MEDIANS) for engine in (OURS, JUDGE))
        difference = f"{result.timings[OURS].difference:.1e}" if JUDGE in result.timings else ""
        lines.append(line(result.name, *texts, ratio(result.ratio), difference, result.fallback_nodes))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", default="", help="a part of the names of operators")
    parser.add_argument("--turns", type=int, default=Method.turns, help="runs of each engine (%(default)s)")
    args = parser.parse_args()
    print(section(measure([name for name in OPERATORS if args.only in name], args.turns)))


if __name__ == "__main__":
    main()
