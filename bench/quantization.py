"""What do the schemes of `sx.quantize` cost and save, compared with other tools on the same models and data?

    PEERS_PYTHON=PYTHON BASIC_PITCH=FILE python bench/quantization.py [--only digits,YuNet] [--turns 20] [--out PAGE]

Run with an interpreter that has onnxruntime, onnx and openvino; PEERS_PYTHON has nncf and olive-ai.  A tool that is not there is
left out, with the reason in its row.  A model that is measured at this commit already is not measured again.

The models have trained weights, but for the layers of a Llama's shape, whose weights are heavy-tailed.  All tools get the same
model, converted to ai.onnx 21, and the same feeds for calibration; errors are those on other feeds.  The other tools write
weights per channel, uint8 activations by minimum and maximum, and blocks of 32 for 4 bits; all else is as each tool has it by
default.  Every layer is quantized (`force=True`).  Each model is made in a process of its own.

Noise is the error of the worst output, and of the outputs on average, as a signal-to-noise ratio in decibels; *classes* is
the share of rows whose largest element is at another place, over all outputs.  Times of making are of the processor; times
of runs are the least processor times of a run on one thread, in turns.  The outputs of all models are computed by
Sardonyx, but for those with operators of com.microsoft, whose outputs onnxruntime computes.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

import sardonyx as sx
from latency import header, line
from measure import stamp
from measured_cases import PATH, MeasuredCases
from quantizing.subjects import Feeds, Subject, subjects
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import Array
from sardonyx._src.quantize.preparation import prepare
from sardonyx._src.quantize.report.quality import ErrorSums

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER.parent / "docs/generated/quantization.md"
OPERATOR_SET = 21  # the first with weights of 4 bits
FLOATS, OURS = "float32", "Sardonyx"
SCHEMES = ("int8", "int8-dynamic", "int4")
OWN_INTERPRETER = (OURS, "onnxruntime")
TOOLS = (*OWN_INTERPRETER, "NNCF", "Olive")
ENGINES = (OURS, "onnxruntime", "OpenVINO")
SECONDS = 900  # of a process that makes a model
LARGE_BYTES = 20_000_000  # of a model's file, above which runs are few


@dataclass
class Row:
    """A model file, who made it how, and what was measured: decibels, shares, seconds by engine."""

    scheme: str
    tool: str
    path: Path
    seconds: float = math.nan
    peak: float = math.nan
    worst: float = math.nan
    mean: float = math.nan
    changed: float = math.nan
    latency: dict[str, float] = field(default_factory=dict)
    why: str = ""
    size: int = 0


# --- quantized models -----------------------------------------------------------------------


def make_rows(subject: Subject, folder: Path) -> list[Row]:
    """The original, and its copies by all schemes and tools."""
    original = folder / "original.onnx"
    model = sx.load(subject.path)
    sx.save(prepare(model, OPERATOR_SET), original)
    for number, feeds in enumerate(subject.calibration):
        np.savez(folder / f"{number:04}.npz", allow_pickle=False, **feeds)
    rows = [Row(FLOATS, "", original)]
    for scheme in SCHEMES:
        for tool in TOOLS:
            row = make_row(scheme, tool, original, folder / f"{scheme}-{tool}.out")
            print(f"{subject.name}: {scheme}, {tool}: {row.seconds:.1f} s {row.why}", flush=True)
            rows.append(row)
    return rows


def make_row(scheme: str, tool: str, original: Path, out: Path) -> Row:
    row = Row(scheme, tool, out)
    python = sys.executable if tool in OWN_INTERPRETER else os.environ.get("PEERS_PYTHON", "")
    facts = {
        "tool": tool, "scheme": scheme, "model": str(original), "calibration": str(original.parent), "out": str(out),
    }  # fmt: skip
    if not python:
        row.why = "PEERS_PYTHON is not set"
        return row
    command = [python, str(FOLDER / "quantizing/make_model.py"), json.dumps(facts)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        row.why = f"not done after {SECONDS} s"
        return row
    if done.returncode:
        row.why = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1][:90]
    else:
        sample = json.loads(done.stdout.splitlines()[-1])
        row.seconds, row.peak, row.size = sample["seconds"], sample["peak"], out.stat().st_size
    return row


# --- measurements ---------------------------------------------------------------------------


def measure(subject: Subject, turns: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        rows = make_rows(subject, Path(folder))
        rows[0].size = rows[0].path.stat().st_size
        exact = outputs_of(rows[0].path, subject.test)
        for row in rows[1:]:
            if not row.why:
                measure_error(row, exact, subject)
        measure_latencies(subject, rows, turns)
    return rows


def measure_fields(subject: Subject, turns: int) -> dict[str, object]:
    """The rows as JSON has them."""
    return {"rows": [{**asdict(row), "path": str(row.path)} for row in measure(subject, turns)]}


def measure_error(row: Row, exact: Sequence[Sequence[Array]], subject: Subject) -> None:
    """The signal-to-noise ratios of the worst output and of their mean, and the share of changed classes."""
    try:
        actual = outputs_of(row.path, subject.test)
    except SardonyxError as error:
        row.why = " ".join(str(error).split())[:90]
        return
    sums = [ErrorSums() for _ in exact[0]]
    for expected, outputs in zip(exact, actual, strict=True):
        for total, first, second in zip(sums, expected, outputs, strict=True):
            total.add(first, second)
    ratios = [total.error("").signal_to_noise for total in sums]
    row.worst, row.mean = min(ratios, default=math.inf), float(np.mean(ratios))
    rows = sum(total.rows for total in sums)
    row.changed = sum(total.changed for total in sums) / rows if rows else math.nan


def outputs_of(path: Path, runs: Sequence[Feeds]) -> list[list[Array]]:
    """The outputs of floats of each run; maps as their values in the order of the keys."""
    run = open_any(path)
    return [[array for value in run(feeds) if (array := as_floats(value)) is not None] for feeds in runs]


def as_floats(value: object) -> Array | None:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = np.array([[part[key] for key in sorted(part)] for part in value])
    return value if isinstance(value, np.ndarray) and value.dtype.kind == "f" else None


def open_any(path: Path) -> Callable[[Feeds], Sequence[object]]:
    model = sx.load(path)
    if all(node.domain in ("", "ai.onnx.ml") for node in model.graph.nodes):
        session = sx.Session(model, shapes="off")
        return lambda feeds: list(session.run(feeds).values())
    import onnxruntime as ort

    peer = ort.InferenceSession(path, runtime_options(), providers=["CPUExecutionProvider"])
    return lambda feeds: list(peer.run(None, feeds))


def measure_latencies(subject: Subject, rows: Sequence[Row], turns: int) -> None:
    """The least processor time of a run on one thread, of each model in each engine, in turns."""
    calls = {
        (number, engine): call
        for number, row in enumerate(rows)
        for engine, call in open_engines(row, subject.test[0])
    }
    least = dict.fromkeys(calls, math.inf)
    for _ in range(turns if rows[0].size < LARGE_BYTES else 5):
        for key, call in calls.items():
            start = time.process_time()
            call()
            least[key] = min(least[key], time.process_time() - start)
    for (number, engine), value in least.items():
        rows[number].latency[engine] = value


def open_engines(row: Row, feeds: Feeds) -> Iterator[tuple[str, Callable[[], object]]]:
    """The model in all engines; without those that refuse it."""
    if row.why:
        return
    for engine, opened in (
        (OURS, open_ours),
        ("onnxruntime", open_onnxruntime),
        ("OpenVINO", open_openvino),
    ):
        try:
            call = opened(row.path, feeds)
            call()
            yield engine, call
        except Exception as error:  # noqa: BLE001 - their exceptions have no common class
            print(f"{row.scheme}, {row.tool}: {engine} refuses it: {' '.join(str(error).split())[:80]}")


def open_ours(path: Path, feeds: Feeds) -> Callable[[], object]:
    session = sx.Session(path, threads=1, shapes="off")
    return lambda: session.run(feeds)


def open_onnxruntime(path: Path, feeds: Feeds) -> Callable[[], object]:
    import onnxruntime as ort

    session = ort.InferenceSession(path, runtime_options(), providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds)


def runtime_options() -> object:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return options


def open_openvino(path: Path, feeds: Feeds) -> Callable[[], object]:
    import openvino as ov

    core = ov.Core()
    model = core.read_model(path.read_bytes())
    request = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1}).create_infer_request()
    return lambda: request.infer(feeds)


# --- the page -------------------------------------------------------------------------------


def page(results: Mapping[str, Sequence[Row]]) -> str:
    parts = [
        "# Quantization",
        "Written by `bench/quantization.py`.",
        *str(__doc__).split("\n\n")[2:],
        stamp(),
    ]
    load = os.getloadavg()[0]
    parts.append(f"The load of the machine at the end was {load:.1f}; errors and bytes do not depend on it.")
    for name, rows in results.items():
        parts += [f"## {name}", table(rows)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def table(rows: Sequence[Row]) -> str:
    columns = (
        "scheme", "tool", "file, kB", "worst, dB", "mean, dB", "classes, %", "made in, s", "peak, MB",
        *(f"{engine}, ms" for engine in ENGINES),
    )  # fmt: skip
    return "\n".join([header(*columns), *(line(*cells(row)) for row in rows)])


def cells(row: Row) -> list[str]:
    if row.why:
        return [row.scheme, row.tool, row.why.replace("|", "/"), *[""] * 8]
    return [
        row.scheme,
        row.tool,
        f"{row.size / 1e3:.0f}",
        number(row.worst),
        number(row.mean),
        number(100 * row.changed),
        number(row.seconds),
        number(row.peak, 0),
        *(milliseconds(row.latency.get(engine, math.nan)) for engine in ENGINES),
    ]


def number(value: float, digits: int = 1) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def milliseconds(seconds: float) -> str:
    return "refused" if math.isnan(seconds) else f"{1e3 * seconds:.3g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", help="comma-separated names of models")
    parser.add_argument("--turns", type=int, default=20, help="runs of each model (%(default)s)")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page (%(default)s)")
    args = parser.parse_args()
    chosen = None if args.only is None else args.only.split(",")
    results = {}
    cases = MeasuredCases(PATH)
    with tempfile.TemporaryDirectory() as folder:
        for subject in subjects(Path(folder)):
            measure_rows = partial(measure_fields, subject, args.turns)
            if chosen is None or subject.name in chosen:
                fields = cases.measure(("quantization", subject.name), measure_rows)
                results[subject.name] = [Row(**{**row, "path": Path(row["path"])}) for row in fields["rows"]]
                args.out.write_text(page(results), "utf-8")


if __name__ == "__main__":
    main()
