"""How fast are products by weights of 4 and 8 bits on one core, compared with onnxruntime?

Each model is one MatMulNBits of com.microsoft with random weights in blocks of 32, on one token and on a prompt.  Accuracy
level 4 lets an engine round the activations to int8; at level 0 it computes in float32.  Both engines run in one process, in
turn; a ratio is onnxruntime's time over ours.  An error is the largest difference from the product in float64, relative to
the largest number of the output.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import sardonyx as sx
from latency import Method, header, line, print_timing, ratio, spread_text
from sardonyx._src.ir import Array, Tensor
from sardonyx._src.measure.engines import OURS, open_engine
from sardonyx._src.measure.timing import EngineTiming, collect_outputs, measure_engines

JUDGE = "onnxruntime"
BLOCK = 32
SEED = 17
PROMPT = 64


@dataclass(frozen=True)
class Product:
    """y [rows, columns] = x [rows, inner] @ the weights of `bits` bits [inner, columns]."""

    bits: int
    level: int
    rows: int
    inner: int = 2048
    columns: int = 5632

    @property
    def name(self) -> str:
        tokens = "one token" if self.rows == 1 else f"{self.rows} tokens"
        return f"{self.bits} bits, level {self.level}, {tokens}, {self.inner} x {self.columns}"

    def draw(self) -> tuple[Array, Array, Array]:
        """Activations [rows, inner] float32, codes [columns, blocks, bytes] uint8, scales [columns, blocks] float32."""
        draw, blocks = np.random.default_rng(SEED), self.inner // BLOCK
        codes = draw.integers(0, 256, (self.columns, blocks, BLOCK * self.bits // 8), np.uint8)
        scales = draw.random((self.columns, blocks), np.float32) * np.float32(0.1 / (1 << self.bits))
        return draw.standard_normal((self.rows, self.inner), np.float32), codes, scales

    def save(self, folder: Path) -> str:
        """Saves the model; returns its path."""
        _, codes, scales = self.draw()
        attributes = (
            f"K = {self.inner}, N = {self.columns}, bits = {self.bits}, "
            f"block_size = {BLOCK}, accuracy_level = {self.level}"
        )
        model = sx.from_text(
            '<ir_version: 9, opset_import: ["": 21, "com.microsoft": 1]> '
            f"g (float[M,{self.inner}] x, uint8[{','.join(map(str, codes.shape))}] codes, "
            f"float[{','.join(map(str, scales.shape))}] scales) => (float[M,{self.columns}] y) "
            f"{{ y = com.microsoft.MatMulNBits <{attributes}> (x, codes, scales) }}"
        )
        for value, constant in zip(list(model.graph.inputs)[1:], (codes, scales), strict=True):
            model.graph.remove_input(value)
            value.initializer = Tensor.of(constant)
            model.graph.add_initializer(value)
        path = folder / "product.onnx"
        sx.save(model, path)
        return str(path)

    def exact(self) -> Array:
        """The product in float64."""
        x, codes, scales = self.draw()
        per_byte = 8 // self.bits
        shifts = np.arange(per_byte, dtype=np.uint8) * self.bits
        unpacked = (codes[..., None] >> shifts) & ((1 << self.bits) - 1)
        centered = unpacked.reshape(self.columns, -1, BLOCK).astype(np.float64) - (1 << self.bits - 1)
        weights = (centered * scales[..., None]).reshape(self.columns, self.inner)
        product: Array = x.astype(np.float64) @ weights.T
        return product


PRODUCTS = [Product(bits, level, rows) for bits in (4, 8) for level in (0, 4) for rows in (1, PROMPT)]


@dataclass(frozen=True)
class Result:
    product: Product
    timings: dict[str, EngineTiming]
    errors: dict[str, float]
    method: Method

    @property
    def ratio(self) -> float:
        """onnxruntime's time over ours; NaN if it is not installed."""
        judge = self.timings.get(JUDGE)
        return self.method.value(judge) / self.method.value(self.timings[OURS]) if judge else math.nan


def measure(products: Iterable[Product], method: Method) -> Iterator[Result]:
    """Measures every product; prints a line for each engine."""
    clock = time.process_time if method.cpu else time.perf_counter
    for product in products:
        with tempfile.TemporaryDirectory() as folder:
            path, feeds = product.save(Path(folder)), {"x": product.draw()[0]}
            engines = [engine for engine in (JUDGE, OURS) if is_installed(engine, path)]
            timings = measure_engines(path, engines, 1, feeds, method.turns, clock=clock)
            outputs = {e: collect_outputs(open_engine(e, path, 1), feeds)[0] for e in engines}
        for timing in timings:
            print_timing(product.name, timing)
        exact = product.exact()
        errors = {e: relative_error(np.asarray(y), exact) for e, y in outputs.items()}
        yield Result(product, {timing.engine: timing for timing in timings}, errors, method)


def is_installed(engine: str, path: str) -> bool:
    try:
        open_engine(engine, path, 1)
    except sx.SardonyxError:
        return False
    return True


def relative_error(y: Array, exact: Array) -> float:
    return float(np.abs(y - exact).max() / np.abs(exact).max())


def section(results: Iterable[Result] | None = None) -> str:
    """The table for docs/generated/benchmarks.md."""
    lines = [header("product", f"{OURS}, ms", f"{JUDGE}, ms", "ratio", "error", f"error of {JUDGE}")]
    for result in measure(PRODUCTS, Method()) if results is None else results:
        texts = (spread_text(result.timings.get(engine), result.method) for engine in (OURS, JUDGE))
        errors = (f"{result.errors[e]:.1e}" if e in result.errors else "" for e in (OURS, JUDGE))
        lines.append(line(result.product.name, *texts, ratio(result.ratio), *errors))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", default="", help="a part of the names of products")
    parser.add_argument("--turns", type=int, default=Method.turns, help="runs of each engine (%(default)s)")
    parser.add_argument("--busy", action="store_true", help="shortest processor times, on a busy machine")
    args = parser.parse_args()
    method = Method(turns=args.turns, least=args.busy, cpu=args.busy)
    print(section(measure([p for p in PRODUCTS if args.only in p.name], method)))


if __name__ == "__main__":
    main()
