"""How fast are products of quantized matrices on one and two cores, compared with onnxruntime?

Small cases have 8 rows of 64, those of one row 768 elements, large ones 128 rows of 768, as BERT has; weights are int8 unless a name
says otherwise, and activations uint8.  A name lists what of zero points there is.  Both engines run in one process, in turn; a ratio is
onnxruntime's time over ours.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import sardonyx as sx
from latency import Method, header, line, print_timing, ratio, spread_text
from sardonyx._src.ir import Array, Tensor
from sardonyx._src.measure.engines import OURS
from sardonyx._src.measure.timing import EngineTiming, measure_engines

JUDGE = "onnxruntime"
SEED = 23
HEADER = '<ir_version: 9, opset_import: ["": 21, "com.microsoft": 1]>'
TYPES = {
    np.dtype(np.float32): "float",
    np.dtype(np.uint8): "uint8",
    np.dtype(np.int8): "int8",
    np.dtype(np.int32): "int32",
    np.dtype(np.int64): "int64",
}
DRAW = np.random.default_rng(SEED)
Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Case:
    """The nodes of a model, and the elements of its inputs and of its constants; outputs: with their types.

    is_open: whether the dims of inputs are symbols, equal ones the same.
    """

    nodes: str
    feeds: Arrays
    constants: Arrays = field(default_factory=dict)
    outputs: str = "float[] y"
    is_open: bool = False

    def dims(self, name: str) -> str:
        """The dims of an input or constant, in the text of the model."""
        is_open = self.is_open and name in self.feeds
        shape = self.feeds[name].shape if name in self.feeds else self.constants[name].shape
        return ",".join(f"n{dim}" if is_open and dim > 1 else str(dim) for dim in shape)

    def save(self, folder: Path) -> str:
        """Saves the model; returns its path."""
        arrays = {**self.feeds, **self.constants}
        inputs = ", ".join(f"{TYPES[x.dtype]}[{self.dims(name)}] {name}" for name, x in arrays.items())
        model = sx.from_text(
            f"{HEADER} g ({inputs.replace('[]', '')}) => ({self.outputs}) {{ {self.nodes} }}"
        )
        for value in list(model.graph.inputs)[len(self.feeds) :]:
            model.graph.remove_input(value)
            value.initializer = Tensor.of(self.constants[value.name])
            model.graph.add_initializer(value)
        path = folder / "quantized.onnx"
        sx.save(model, path)
        return str(path)


def codes(dtype: type, *shape: int) -> Array:
    """Random bytes; int8 ones are within 64, so that pairs of products do not saturate on any processor."""
    low, high = (-64, 64) if dtype is np.int8 else (0, 255)
    return DRAW.integers(low, high, shape, dtype=dtype)


def floats(*shape: int) -> Array:
    return DRAW.standard_normal(shape, np.float32)


def scalar(number: float, dtype: type = np.float32) -> Array:
    return np.array(number, dtype)


def scales(count: int) -> Array:
    return DRAW.uniform(0.001, 0.01, count).astype(np.float32)


# --- products ---------------------------------------------------------------------------------

SIZES = {
    "small": (1, 8, 64, 64),
    "one row": (1, 1, 768, 768),
    "large": (1, 128, 768, 768),
    "large, four times wider": (1, 128, 768, 3072),
}


def dynamic_product(batch: int, rows: int, k: int, columns: int, zero: str = "") -> Case:
    """What a dynamically quantized layer is: quantized to the range of the run, multiplied, scaled and biased."""
    zeros = {"": {}, "one": {"wz": scalar(3, np.int8)}, "per column": {"wz": codes(np.int8, columns)}}[zero]
    nodes = f"""q, s, z = DynamicQuantizeLinear(x)  p = MatMulInteger(q, w, z{", wz" * bool(zero)})
        f = Cast <to = 1> (p)  t = Mul(s, ws)  m = Mul(f, t)  y = Add(m, b)"""
    constants = {"w": codes(np.int8, k, columns), "ws": scalar(0.01), "b": floats(columns), **zeros}
    return Case(nodes, {"x": floats(batch, rows, k)}, constants)


def integer_product(a: type, b: type, batch: int, rows: int, k: int, columns: int, zeros: str) -> Case:
    """MatMulInteger by a constant, with fed zero points of the left operand."""
    constants = {"b": codes(b, k, columns)}
    if zeros == "none":
        return Case("y = MatMulInteger(a, b)", {"a": codes(a, batch, rows, k)}, constants, "int32[] y")
    constants["zb"] = codes(b, columns) if zeros == "per column" else scalar(5, b)
    feeds = {"a": codes(a, batch, rows, k), "za": scalar(7, a)}
    return Case("y = MatMulInteger(a, b, za, zb)", feeds, constants, "int32[] y")


def computed_product(a: type, b: type, lead: tuple[int, ...], rows: int, k: int, columns: int) -> Case:
    feeds = {
        "a": codes(a, *lead, rows, k),
        "b": codes(b, *lead, k, columns),
        "za": scalar(7, a),
        "zb": scalar(5, b),
    }
    return Case("y = MatMulInteger(a, b, za, zb)", feeds, outputs="int32[] y")


def qlinear_product(
    lead: tuple[int, ...], rows: int, k: int, columns: int, dtype: type, *, is_constant: bool
) -> Case:
    """QLinearMatMul with constant parameters; onnxruntime wants both factors of one type or uint8 by int8."""
    shape = (k, columns) if is_constant else (*lead, k, columns)
    nodes = "y = QLinearMatMul(a, sa, za, b, sb, zb, sy, zy)"
    parameters = {
        "sa": scalar(0.02), "za": scalar(120, np.uint8), "sb": scalar(0.03), "zb": scalar(3, dtype),
        "sy": scalar(0.5), "zy": scalar(128, np.uint8),
    }  # fmt: skip
    a, b = {"a": codes(np.uint8, *lead, rows, k)}, {"b": codes(dtype, *shape)}
    if is_constant:
        return Case(nodes, a, {**b, **parameters}, "uint8[] y")
    return Case(nodes, {**a, **b}, parameters, "uint8[] y")


# --- com.microsoft ----------------------------------------------------------------------------


def attention(batch: int, length: int, hidden: int, heads: int, zero: str = "one") -> Case:
    per_column = zero == "per column"
    constants = {
        "w": codes(np.int8, hidden, 3 * hidden), "b": floats(3 * hidden),
        "ws": scales(3 * hidden) if per_column else scalar(0.002),
    }  # fmt: skip
    zeros = ""
    if zero != "none":
        constants["wz"] = np.zeros(3 * hidden, np.int8) if per_column else scalar(2, np.int8)
        zeros = ", wz"
    nodes = f"""q, s, z = DynamicQuantizeLinear(x)
        y = com.microsoft.QAttention <num_heads = {heads}> (q, w, b, s, ws, , z{zeros})"""
    return Case(nodes, {"x": floats(batch, length, hidden)}, constants)


def dynamic_matmul(batch: int, rows: int, k: int, columns: int, zero: str = "") -> Case:
    constants = {"w": codes(np.int8, k, columns), "b": floats(columns)}
    constants["ws"] = scales(columns) if zero == "per column" else scalar(0.002)
    names = "x, w, ws, , b"
    if zero:
        constants["wz"] = codes(np.int8, columns) if zero == "per column" else scalar(3, np.int8)
        names = "x, w, ws, wz, b"
    return Case(f"y = com.microsoft.DynamicQuantizeMatMul({names})", {"x": floats(batch, rows, k)}, constants)


def matmul_to_float(batch: int, rows: int, k: int, columns: int) -> Case:
    feeds = {"a": codes(np.uint8, batch, rows, k), "sa": scalar(0.01), "za": scalar(120, np.uint8)}
    constants = {
        "w": codes(np.int8, k, columns),
        "ws": scales(columns),
        "wz": codes(np.int8, columns),
        "b": floats(columns),
    }
    return Case("y = com.microsoft.MatMulIntegerToFloat(a, w, sa, ws, za, wz, b)", feeds, constants)


def gemm(rows: int, k: int, columns: int, *, is_quantized: bool) -> Case:
    parameters = {
        "sa": scalar(0.01), "za": scalar(120, np.uint8), "w": codes(np.int8, columns, k), "sw": scalar(0.02),
        "zw": scalar(3, np.int8), "c": DRAW.integers(-999, 999, columns, np.int32),
    }  # fmt: skip
    if is_quantized:
        parameters |= {"sy": scalar(0.5), "zy": scalar(128, np.uint8)}
    nodes = f"y = com.microsoft.QGemm <transB = 1> (a, {', '.join(parameters)})"
    return Case(
        nodes, {"a": codes(np.uint8, rows, k)}, parameters, "uint8[] y" if is_quantized else "float[] y"
    )


# --- a small network --------------------------------------------------------------------------


def digits(batch: int) -> Case:
    """Two convolutions with MaxPool and a product, all quantized, on images of 28 x 28: a network for MNIST."""
    image = {"xs": scalar(1 / 255), "xz": scalar(0, np.uint8)}
    layers = {
        "w1": codes(np.int8, 8, 1, 5, 5), "b1": DRAW.integers(-99, 99, 8, np.int32), "w2": codes(np.int8, 16, 8, 5, 5),
        "b2": DRAW.integers(-99, 99, 16, np.int32), "w3": codes(np.int8, 256, 10), "ws": scalar(0.01), "wz": scalar(0, np.int8),
        "s1": scalar(0.02), "s2": scalar(0.05), "s3": scalar(0.2), "z1": scalar(0, np.uint8), "z3": scalar(128, np.uint8),
        "dims": np.array([batch, 256]),
    }  # fmt: skip
    nodes = """
        q = QuantizeLinear(x, xs, xz)
        c1 = QLinearConv <pads = [2, 2, 2, 2]> (q, xs, xz, w1, ws, wz, s1, z1, b1)
        p1 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c1)
        c2 = QLinearConv <pads = [2, 2, 2, 2]> (p1, s1, z1, w2, ws, wz, s2, z1, b2)
        p2 = MaxPool <kernel_shape = [3, 3], strides = [3, 3]> (c2)
        r = Reshape(p2, dims)
        m = QLinearMatMul(r, s2, z1, w3, ws, wz, s3, z3)
        y = DequantizeLinear(m, s3, z3)"""
    return Case(nodes, {"x": DRAW.random((batch, 1, 28, 28), np.float32)}, {**image, **layers})


def dynamic_digits(batch: int) -> Case:
    """The same network quantized with the ranges of a run: ConvInteger and MatMulInteger."""
    layers = {
        "w1": codes(np.int8, 8, 1, 5, 5), "b1": floats(1, 8, 1, 1), "w2": codes(np.int8, 16, 8, 5, 5), "b2": floats(1, 16, 1, 1),
        "w3": codes(np.int8, 256, 10), "b3": floats(10), "ws": scalar(0.01), "dims": np.array([batch, 256]),
    }  # fmt: skip
    nodes = ""
    source = "x"
    for i, size in ((1, 2), (2, 3)):
        nodes += f"""q{i}, s{i}, z{i} = DynamicQuantizeLinear({source})
            i{i} = ConvInteger <pads = [2, 2, 2, 2]> (q{i}, w{i}, z{i})  f{i} = Cast <to = 1> (i{i})
            t{i} = Mul(s{i}, ws)  m{i} = Mul(f{i}, t{i})  a{i} = Add(m{i}, b{i})  r{i} = Relu(a{i})
            p{i} = MaxPool <kernel_shape = [{size}, {size}], strides = [{size}, {size}]> (r{i}) """
        source = f"p{i}"
    nodes += """v = Reshape(p2, dims)  q3, s3, z3 = DynamicQuantizeLinear(v)
        i3 = MatMulInteger(q3, w3, z3)  f3 = Cast <to = 1> (i3)  t3 = Mul(s3, ws)  m3 = Mul(f3, t3)  y = Add(m3, b3)"""
    return Case(nodes, {"x": DRAW.random((batch, 1, 28, 28), np.float32)}, layers)


def make_cases() -> dict[str, Case]:
    cases = {}
    for size, dims in SIZES.items():
        for zero in ("", "one", "per column"):
            cases[f"dynamic MatMulInteger, {size}, zero points {zero or 'none'}"] = dynamic_product(
                *dims, zero
            )
            cases[f"DynamicQuantizeMatMul, {size}, zero points {zero or 'none'}"] = dynamic_matmul(
                *dims, zero
            )
        for zero in ("none", "one", "per column"):
            cases[f"MatMulInteger u8s8, {size}, zero points {zero}"] = integer_product(
                np.uint8, np.int8, *dims, zero
            )
        for a, b, name in ((np.int8, np.int8, "s8s8"), (np.uint8, np.uint8, "u8u8")):
            cases[f"MatMulInteger {name}, {size}, zero points one"] = integer_product(a, b, *dims, "one")
        cases[f"MatMulIntegerToFloat, {size}, zero points per column"] = matmul_to_float(*dims)
        cases[f"QGemm, {size}, quantized"] = gemm(*dims[1:], is_quantized=True)
        cases[f"QGemm, {size}, float"] = gemm(*dims[1:], is_quantized=False)
        cases[f"QLinearMatMul, {size}, constant"] = qlinear_product(
            (1,), *dims[1:], np.int8, is_constant=True
        )
        for is_open in (False, True):
            sizes = "open" if is_open else "known"
            product = computed_product(np.uint8, np.int8, (1,), *dims[1:])
            cases[f"MatMulInteger u8s8, {size}, of two inputs, sizes {sizes}"] = replace(
                product, is_open=is_open
            )
            product = qlinear_product((1,), *dims[1:], np.int8, is_constant=False)
            cases[f"QLinearMatMul, {size}, of two inputs, sizes {sizes}"] = replace(product, is_open=is_open)
    for zero in ("none", "one", "per column"):
        cases[f"QAttention, small, zero points {zero}"] = attention(1, 8, 64, 4, zero)
        cases[f"QAttention, large, zero points {zero}"] = attention(1, 128, 768, 12, zero)
    for name, lead, rows, k, columns in (
        ("small", (1, 4), 8, 16, 8),
        ("scores", (1, 12), 128, 64, 128),
        ("values", (1, 12), 128, 128, 64),
    ):
        for dtype in (np.int8, np.uint8):
            sign = "u8s8" if dtype is np.int8 else "u8u8"
            cases[f"QLinearMatMul {sign} of rank 4, {name}"] = qlinear_product(
                lead, rows, k, columns, dtype, is_constant=False
            )
        cases[f"MatMulInteger u8s8 of rank 4, {name}"] = computed_product(
            np.uint8, np.int8, lead, rows, k, columns
        )
    for batch in (1, 8):
        cases[f"digits, batch {batch}"] = digits(batch)
        cases[f"digits, dynamic, batch {batch}"] = dynamic_digits(batch)
    return cases


# --- measurement ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    name: str
    threads: int
    timings: dict[str, EngineTiming]
    method: Method
    fallback_nodes: int

    @property
    def ratio(self) -> float:
        """onnxruntime's time over ours; NaN if it does not run the model."""
        judge = self.timings.get(JUDGE)
        return self.method.value(judge) / self.method.value(self.timings[OURS]) if judge else math.nan


def measure(cases: Mapping[str, Case], threads: Iterable[int], method: Method) -> Iterator[Result]:
    """Measures every case; prints a line for each engine."""
    clock = time.process_time if method.cpu else time.perf_counter
    for name, case in cases.items():
        for count in threads:
            with tempfile.TemporaryDirectory() as folder:
                path = case.save(Path(folder))
                try:
                    timings = measure_engines(
                        path, [JUDGE, OURS], count, case.feeds, method.turns, clock=clock
                    )
                except sx.SardonyxError:
                    timings = measure_engines(path, [OURS], count, case.feeds, method.turns, clock=clock)
                fallbacks = sx.Session(path, engine="native", threads=1).stats.fallback_nodes
            for timing in timings:
                print_timing(name, timing)
            yield Result(name, count, {timing.engine: timing for timing in timings}, method, fallbacks)


def section(results: Iterable[Result] | None = None) -> str:
    """The table for docs/generated/benchmarks.md."""
    lines = [
        header(
            "product", "threads", f"{OURS}, ms", f"{JUDGE}, ms", "ratio", "difference", "reference kernels"
        )
    ]
    for result in measure(make_cases(), (1, 2), Method()) if results is None else results:
        texts = (spread_text(result.timings.get(engine), result.method) for engine in (OURS, JUDGE))
        difference = f"{result.timings[OURS].difference:.1e}" if JUDGE in result.timings else ""
        lines.append(
            line(result.name, result.threads, *texts, ratio(result.ratio), difference, result.fallback_nodes)
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", default="", help="a part of the names of cases")
    parser.add_argument("--threads", type=int, action="append", help="numbers of threads (1 and 2)")
    parser.add_argument("--turns", type=int, default=Method.turns, help="runs of each engine (%(default)s)")
    parser.add_argument("--busy", action="store_true", help="shortest runs, on a busy machine")
    args = parser.parse_args()
    cases = {name: case for name, case in make_cases().items() if args.only in name}
    threads = args.threads or [1, 2]
    method = Method(turns=args.turns, least=args.busy, cpu=args.busy and threads == [1])
    print(section(measure(cases, threads, method)))


if __name__ == "__main__":
    main()
