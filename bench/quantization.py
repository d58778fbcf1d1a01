"""What do the schemes of `sx.quantize` cost and save, compared with onnxruntime's quantization of the same models?

    python bench/quantization.py [--only digits,yunet] [--turns 40]

Run with an interpreter that has onnxruntime and onnx.  The models have trained weights: the digits of this repository (`make demo`
trains it), and models of other projects in ../shared/models with their stored inputs.  All tools are calibrated with the same
feeds, with ranges by minimum and maximum, uint8 activations and int8 weights per channel, and every layer is quantized
(`force=True`).  Errors are those of the floats of a model on feeds that it was not calibrated with.  Times are the least processor
times of a run on one thread, models in turns, so that a loaded machine changes them little.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import sardonyx as sx
from latency import header, line
from measure import stamp
from optimizing import MODELS
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import Array
from sardonyx._src.quantize.preparation import prepare
from sardonyx._src.quantize.schemes.table import SCHEMES
from shared_models import feeds_of

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/generated/quantization.md"
DIGITS = ROOT / ".demo/digits.onnx"
SHARED = {
    "silero": "silero_vad_v3",
    "YuNet": "yunet_n_dynamic",
    "PicoDet": "picodet_s_320",
    "SqueezeNet": "squeezenet_winml_imagescaler",
}
LEAST_OPSET = 13  # the first with scales for each channel
FLOATS, PEER = "float32", "onnxruntime"
CALIBRATION_ROWS = 64  # of the digits
Feeds = dict[str, Array]

# Schemes with their options; those that this version does not have are left out.
OURS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "int8": ("int8", {}),
    "int8, mse, cross-layer, corrected": (
        "int8",
        {"ranges": "mse", "equalize": "cross-layer", "bias_correction": True},
    ),
    "int8, pairs at all layers": ("int8", {"pairs": "all"}),
    "int8-dynamic": ("int8-dynamic", {}),
    "int8-weights": ("int8-weights", {}),
    "int4": ("int4", {}),
    "mixed": ("mixed", {}),
    "float16": ("float16", {}),
    "bfloat16": ("bfloat16", {}),
    "float8": ("float8", {}),
}


@dataclass(frozen=True)
class Subject:
    """A model with feeds for calibration, and others that errors are measured with."""

    name: str
    path: Path
    calibration: Sequence[Feeds]
    test: Sequence[Feeds]


@dataclass
class Row:
    """A model file, how it was made, and what was measured: decibels, bytes, seconds by engine."""

    scheme: str
    path: Path
    making: float = math.nan
    error: float = math.inf
    seconds: dict[str, float] = field(default_factory=dict)
    why: str = ""
    size: int = 0


def subjects() -> Iterator[Subject]:
    if DIGITS.exists():
        with np.load(ROOT / "examples/digits/test.npz") as rows:
            (name,) = (value.name for value in sx.load(DIGITS).graph.inputs)
            images = rows[name].astype(np.float32)
        first, second = images[:CALIBRATION_ROWS], images[CALIBRATION_ROWS:]
        yield Subject("digits", DIGITS, [{name: first}], [{name: second}])
    for name, folder in SHARED.items():
        if (MODELS / folder).exists():
            feeds = feeds_of(MODELS / folder)
            yield Subject(name, MODELS / folder / "model.onnx", [*varied(feeds)], [feeds])


def varied(feeds: Feeds) -> Iterator[Feeds]:
    """Feeds like the stored ones: brighter, darker, reversed along the last axis, and with noise of a twentieth."""
    draw = np.random.default_rng(2)
    yield {name: scaled(array, 1.1) for name, array in feeds.items()}
    yield {name: scaled(array, 0.8) for name, array in feeds.items()}
    yield {name: np.ascontiguousarray(array[..., ::-1]) for name, array in feeds.items()}
    yield {
        name: (array + draw.standard_normal(array.shape) * array.std() / 20).astype(array.dtype)
        for name, array in feeds.items()
    }


def scaled(array: Array, factor: float) -> Array:
    return np.asarray(array * factor, array.dtype) if array.dtype.kind == "f" else array


# --- quantized models -----------------------------------------------------------------------


def make_rows(subject: Subject, folder: Path) -> list[Row]:
    """The original, and its copies by all schemes of both tools."""
    makers: dict[str, Callable[[Path], None]] = {
        name: by_sardonyx(subject, scheme, options)
        for name, (scheme, options) in OURS.items()
        if scheme in SCHEMES
    }
    makers[f"{PEER}, static"] = by_onnxruntime(subject, is_static=True)
    makers[f"{PEER}, dynamic"] = by_onnxruntime(subject, is_static=False)
    rows = [Row(FLOATS, subject.path)]
    for scheme, make in makers.items():
        row = Row(scheme, folder / f"{len(rows)}.onnx")
        start = time.process_time()
        try:
            make(row.path)
        except (SardonyxError, ValueError, RuntimeError) as error:
            row.why = " ".join(str(error).split())[:80]
        row.making = time.process_time() - start
        rows.append(row)
        print(f"{subject.name}: {scheme} in {row.making:.1f} s {row.why}", flush=True)
    return rows


def by_sardonyx(subject: Subject, scheme: str, options: Mapping[str, Any]) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        result = sx.quantize(subject.path, scheme, data=subject.calibration, force=True, rounds=0, **options)
        sx.save(result.model, path)

    return make


def by_onnxruntime(subject: Subject, *, is_static: bool) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        from onnxruntime import quantization
        from onnxruntime.quantization.shape_inference import quant_pre_process

        class Inputs(quantization.CalibrationDataReader):  # type: ignore[misc]  # untyped
            def __init__(self) -> None:
                self.feeds = iter(subject.calibration)

            def get_next(self) -> object:
                return next(self.feeds, None)

        with tempfile.TemporaryDirectory() as folder:
            prepared = os.path.join(folder, "prepared.onnx")
            sx.save(prepare(sx.load(subject.path), LEAST_OPSET), prepared)
            quant_pre_process(prepared, prepared, skip_symbolic_shape=True)
            if is_static:
                quantization.quantize_static(
                    prepared, path, Inputs(), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
                    activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8,
                )  # fmt: skip
            else:
                quantization.quantize_dynamic(
                    prepared, path, per_channel=True, weight_type=quantization.QuantType.QInt8
                )

    return make


# --- measurements ---------------------------------------------------------------------------


def measure(subject: Subject, turns: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        rows = make_rows(subject, Path(folder))
        measure_errors(subject, rows)
        measure_times(subject, rows, turns)
        for row in rows:
            row.size = row.path.stat().st_size if row.path.exists() else 0
    return rows


def measure_errors(subject: Subject, rows: Sequence[Row]) -> None:
    """The signal-to-noise ratio of the worst output, in decibels."""
    exact = [outputs_of(rows[0].path, feeds) for feeds in subject.test]
    for row in rows[1:]:
        if not row.why:
            actual = [outputs_of(row.path, feeds) for feeds in subject.test]
            row.error = worst_ratio(exact, actual)


def outputs_of(path: Path, feeds: Feeds) -> list[Array]:
    """The outputs of floats; maps as their values in the order of the keys."""
    arrays = []
    for value in sx.Session(path, shapes="off").run(feeds).values():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            value = np.array([[part[key] for key in sorted(part)] for part in value])
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            arrays.append(value.astype(np.float64))
    return arrays


def worst_ratio(exact: Sequence[Sequence[Array]], actual: Sequence[Sequence[Array]]) -> float:
    ratios = []
    for index in range(len(exact[0])):
        signal = sum(float(np.square(run[index]).sum()) for run in exact)
        noise = sum(float(np.square(b[index] - a[index]).sum()) for a, b in zip(exact, actual, strict=True))
        ratios.append(10 * math.log10(signal / noise) if signal and noise else math.inf)
    return min(ratios, default=math.inf)


def measure_times(subject: Subject, rows: Sequence[Row], turns: int) -> None:
    """The least processor time of a run on one thread, of each model in each engine, in turns."""
    calls = {(row.scheme, engine): call for row in rows for engine, call in open_both(row, subject.test[0])}
    least = dict.fromkeys(calls, math.inf)
    for _ in range(turns):
        for key, call in calls.items():
            start = time.process_time()
            call()
            least[key] = min(least[key], time.process_time() - start)
    for row in rows:
        row.seconds = {engine: value for (scheme, engine), value in least.items() if scheme == row.scheme}


def open_both(row: Row, feeds: Feeds) -> Iterator[tuple[str, Callable[[], object]]]:
    """The model in both engines; without those that refuse it."""
    import onnxruntime as ort

    if row.why:
        return
    session = sx.Session(row.path, threads=1, shapes="off")
    yield "Sardonyx", lambda: session.run(feeds)
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    try:
        other = ort.InferenceSession(row.path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - its exceptions have no common class
        print(f"{row.scheme}: {PEER} refuses it: {' '.join(str(error).split())[:80]}", flush=True)
        return
    yield PEER, lambda: other.run(None, feeds)


# --- the page -------------------------------------------------------------------------------


def page(results: Mapping[str, Sequence[Row]]) -> str:
    parts = ["# Quantization", "Written by `bench/quantization.py`.", str(__doc__).split("\n\n")[2], stamp()]
    for name, rows in results.items():
        parts += [f"## {name}", table(rows)]
    return "\n\n".join(parts) + "\n"


def table(rows: Sequence[Row]) -> str:
    columns = ("scheme", "worst output, dB", "file, kB", "made in, s", "Sardonyx, ms", f"{PEER}, ms")
    return "\n".join([header(*columns), *(line(*cells(row)) for row in rows)])


def cells(row: Row) -> list[str]:
    if row.why:
        return [row.scheme, row.why, "", "", "", ""]
    times = [row.seconds.get(engine, math.nan) for engine in ("Sardonyx", PEER)]
    making = "" if math.isnan(row.making) else f"{row.making:.1f}"
    error = "" if row.scheme == FLOATS else f"{row.error:.1f}"
    return [
        row.scheme,
        error,
        f"{row.size / 1e3:.0f}",
        making,
        *("refused" if math.isnan(t) else f"{1e3 * t:.3g}" for t in times),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", help="comma-separated names of models")
    parser.add_argument("--turns", type=int, default=40, help="runs of each model (%(default)s)")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page (%(default)s)")
    args = parser.parse_args()
    chosen = None if args.only is None else args.only.split(",")
    results = {s.name: measure(s, args.turns) for s in subjects() if chosen is None or s.name in chosen}
    args.out.write_text(page(results), "utf-8")


if __name__ == "__main__":
    main()
