"""How fast are products of bfloat16 and of int8, and what error does bfloat16 make?

On one thread, `precision="bf16"` beside float32 and beside OpenVINO, whose precision hint is bfloat16, too (its default on such processors).  An error
is the largest difference of an output from that of float32, relative to the largest number of the output.  The integer networks are
those that onnxruntime has quantized: per channel in QDQ form, or dynamically (MatMulInteger).  All engines run in one process, in turn; times are the shortest runs.  "Of the peak" is the
share of the machine's peak rate of such products, which the first table has: of instructions on registers alone.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import sardonyx as sx
from latency import header, line
from quantized_networks import QUANTIZED
from sardonyx._src.compile.kernels.gemm.bf16.bf16_arithmetic import has_bf16_products
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Precision
from sardonyx._src.ir.dims import evaluate
from sardonyx._src.measure.engines import open_engine
from sardonyx._src.measure.machine.calibration import measure_products
from sardonyx._src.measure.timing import collect_outputs, interleave_calls, max_relative_difference
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.engine.engine import NativeEngine
from zoo.catalogue import ENTRIES, Feeds

ROUNDS = 5


@dataclass(frozen=True)
class Rates:
    """Peak operations per second of one thread; 0 for what the processor has not."""

    float32: float
    int8_vectors: float
    int8_tiles: float
    bf16_tiles: float


def peak_rates() -> Rates:
    """Measures the peak rates of one thread."""
    rates = measure_products()
    return Rates(rates["float32"], rates["int8"], rates.get("int8 tiles", 0.0), rates.get("bf16 tiles", 0.0))


# --- networks ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """Seconds of the shortest runs, and errors, by engine.  operations: of products of bfloat16."""

    name: str
    seconds: Mapping[str, float]
    errors: Mapping[str, float]
    operations: float = 0.0


def measure_bf16(name: str) -> Measured:
    """A network of the zoo in float32 and in bfloat16, and in OpenVINO if it is installed."""
    entry = ENTRIES[name]
    path, feeds = str(entry.path()), entry.feeds()
    calls = {"float32": call_of("sardonyx", path, feeds), "bf16": call_of("sardonyx", path, feeds, "bf16")}
    try:
        calls["openvino"] = call_of("openvino", path, feeds, "bf16")
    except sx.errors.SardonyxError as error:
        print(json.dumps({"what": name, "tool": "openvino", "fails": str(error)}), flush=True)
    outputs = {engine: call() for engine, call in calls.items()}
    samples = interleave_calls(calls, ROUNDS, lambda: None)
    errors = {e: max_relative_difference(outputs[e], outputs["float32"]) for e in calls if e != "float32"}
    best = {engine: min(times) for engine, times in samples.items()}
    measured = Measured(name, best, errors, bf16_operations(path, feeds))
    print(json.dumps({"what": name, **asdict(measured)}), flush=True)
    return measured


def call_of(
    engine: str, path: str, feeds: Feeds, precision: Precision = "float32"
) -> Callable[[], Sequence[RuntimeValue]]:
    return partial(collect_outputs, open_engine(engine, path, 1, precision), feeds)


def bf16_operations(path: str, feeds: Feeds) -> float:
    """The operations of the products of bfloat16 of a run."""
    native = NativeEngine(sx.load(path), threads=1, precision="bf16").native
    sizes = dict(zip(native.program.sizes, native.input_sizes(feeds), strict=True))
    steps = [step for step in native.program.steps if "_bf16_" in step.kernel.key and step.writes]
    return float(sum(evaluate(step.flops, sizes) or 0 for step in steps))


def measure_int8(name: str) -> Measured | None:
    """A quantized network; None without onnxruntime, which quantizes it."""
    network = QUANTIZED[name]
    try:
        path, feeds = str(network.path()), network.feeds()
    except ImportError:
        return None
    calls = {}
    for engine in ("onnxruntime", "sardonyx", "openvino"):
        try:
            calls[engine] = call_of(engine, path, feeds)
        except sx.errors.SardonyxError as error:
            print(json.dumps({"what": name, "tool": engine, "fails": str(error)}), flush=True)
    outputs = {engine: call() for engine, call in calls.items()}
    samples = interleave_calls(calls, ROUNDS, lambda: None)
    errors = {e: max_relative_difference(out, outputs["onnxruntime"]) for e, out in outputs.items()}
    measured = Measured(name, {e: min(times) for e, times in samples.items()}, errors)
    print(json.dumps({"what": name, **asdict(measured)}), flush=True)
    return measured


# --- tables -----------------------------------------------------------------------------------


def section(names: Sequence[str] | None = None) -> str | None:
    """The tables; None on a processor without products of bfloat16."""
    if not has_bf16_products(host_target()):
        return None
    rates = peak_rates()
    print(json.dumps({"what": "peak rates", **asdict(rates)}), flush=True)
    integer = [row for name in QUANTIZED if (row := measure_int8(name)) is not None]
    rows = [measure_bf16(name) for name in names or ENTRIES]
    parts = [rate_table(rates), bf16_table(rows, rates)]
    return "\n\n".join([*parts, *([int8_table(integer)] if integer else [])])


def rate_table(rates: Rates) -> str:
    lines = [header("products", "peak of one thread, 10^9 operations a second")]
    for name, rate in (
        ("float32, vectors", rates.float32),
        ("int8, vectors", rates.int8_vectors),
        ("int8, AMX tiles", rates.int8_tiles),
        ("bfloat16, AMX tiles", rates.bf16_tiles),
    ):
        lines.append(line(name, f"{rate / 1e9:.0f}" if rate else "none"))
    return "\n".join(lines)


def bf16_table(rows: Sequence[Measured], rates: Rates) -> str:
    lines = [
        header(
            "model", "float32, ms", "bf16, ms", "openvino bf16, ms", "ratio", "gain",
            "of the peak", "error", "error of openvino",
        )
    ]  # fmt: skip
    for row in rows:
        ours, other, exact = row.seconds["bf16"], row.seconds.get("openvino"), row.seconds["float32"]
        share = row.operations / ours / rates.bf16_tiles if rates.bf16_tiles else 0.0
        lines.append(
            line(
                row.name,
                milliseconds(exact),
                milliseconds(ours),
                "fails" if other is None else milliseconds(other),
                "" if other is None else f"{other / ours:.2f}",
                f"{exact / ours:.2f}",
                f"{share:.0%}",
                f"{row.errors['bf16']:.1e}",
                f"{row.errors['openvino']:.1e}" if "openvino" in row.errors else "",
            )
        )
    return "\n".join(lines)


def int8_table(rows: Sequence[Measured]) -> str:
    """Times of quantized networks; the ratio is that of the faster peer."""
    columns = (
        "model",
        "onnxruntime, ms",
        "openvino, ms",
        "sardonyx, ms",
        "ratio",
        "difference from onnxruntime",
    )
    lines = [header(*columns)]
    for row in rows:
        peers = [row.seconds.get(engine) for engine in ("onnxruntime", "openvino")]
        ours = row.seconds["sardonyx"]
        best = min(seconds for seconds in peers if seconds is not None)
        cells = ["fails" if seconds is None else milliseconds(seconds) for seconds in (*peers, ours)]
        lines.append(line(row.name, *cells, f"{best / ours:.2f}", f"{row.errors['sardonyx']:.1e}"))
    return "\n".join(lines)


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="networks of the zoo; all by default")
    print(section(parser.parse_args().names))


if __name__ == "__main__":
    main()
