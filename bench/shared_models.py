"""How fast are models of other projects, compared with onnxruntime?

The models are in ../shared/models, with inputs and the outputs of onnxruntime 1.31.1.  Both engines run the same file on
the same inputs in one process, in turn; Sardonyx with default options (`engine="auto"`).  Times are medians with the
10th and 90th percentiles; a ratio is onnxruntime's time over ours: above 1, Sardonyx is faster.  Differences are those
from the stored outputs, relative to the largest number of an output.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sardonyx as sx
from latency import BUSY_NOTE, MEDIANS, Method, header, line, print_timing, ratio, spread_text
from optimizing import MODELS
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import Array
from sardonyx._src.measure.engines import OURS, open_engine
from sardonyx._src.measure.timing import EngineTiming, interleave_calls, max_relative_difference
from sardonyx._src.ops.api import RuntimeValue

PEER = "onnxruntime"
ENGINES = (OURS, PEER)
Feeds = dict[str, Array]
Call = Callable[[], Sequence[RuntimeValue]]


@dataclass(frozen=True)
class Case:
    """Results of one model on a number of threads.

    engine: which engine of Sardonyx ran it; timed: timings by tool; why: the error by tool that does not run it.
    """

    name: str
    threads: int
    engine: str
    timed: Mapping[str, EngineTiming]
    why: Mapping[str, str]
    method: Method = MEDIANS

    @property
    def ratio(self) -> float:
        """The peer's time over ours; NaN if either is missing."""
        ours, theirs = self.timed.get(OURS), self.timed.get(PEER)
        return (
            math.nan
            if ours is None or theirs is None
            else self.method.value(theirs) / self.method.value(ours)
        )


def model_names() -> list[str]:
    """Names of the shared models; none if their folder is missing."""
    return sorted(path.parent.name for path in MODELS.glob("*/model.onnx"))


def measure(models: Iterable[str], threads: Sequence[int], method: Method = MEDIANS) -> list[Case]:
    """Measures every model on every number of threads; prints a line for each engine."""
    return [measure_case(name, n, method) for name in models for n in threads]


def measure_case(name: str, threads: int, method: Method) -> Case:
    engines = OpenEngines(MODELS / name / "model.onnx", threads, feeds_of(MODELS / name))
    outputs, answers = {tool: call() for tool, call in engines.calls.items()}, answers_of(MODELS / name)
    samples = interleave_calls(engines.calls, method.turns, lambda: None)
    timed = {
        tool: EngineTiming(tool, threads, runs, max_difference(outputs[tool], answers))
        for tool, runs in samples.items()
    }
    case = Case(name, threads, engines.engine, timed, engines.why, method)
    for timing in timed.values():
        print_timing(name, timing, engine=case.engine if timing.engine == OURS else PEER)
    return case


class OpenEngines:
    """A model opened in both tools: calls by tool, errors by tool that does not run it, and our engine."""

    def __init__(self, path: Path, threads: int, feeds: Feeds) -> None:
        self.calls: dict[str, Call] = {}
        self.why: dict[str, str] = {}
        self.engine = ""
        for tool in ENGINES:
            try:
                call = self.ours(path, threads, feeds) if tool == OURS else open_peer(path, threads, feeds)
                call()
                self.calls[tool] = call
            except SardonyxError as error:
                self.why[tool] = " ".join(str(error).split())

    def ours(self, path: Path, threads: int, feeds: Feeds) -> Call:
        session = sx.Session(path, threads=threads)
        self.engine = session.engine
        return lambda: list(session.run(feeds).values())


def open_peer(path: Path, threads: int, feeds: Feeds) -> Call:
    run = open_engine(PEER, str(path), threads)
    return lambda: list(run(feeds))


# --- stored inputs and outputs --------------------------------------------------------------


def feeds_of(folder: Path) -> Feeds:
    """Inputs by name."""
    return {
        name: string_array(value) if isinstance(value, dict) else value
        for name, value in read_recorded(folder, "in:")
    }


def answers_of(folder: Path) -> list[RuntimeValue]:
    """Outputs in the model's order; strings are arrays, and maps are dicts."""
    outputs = dict(read_recorded(folder, "out:"))
    values = [outputs[value.name] for value in sx.load(folder / "model.onnx").graph.outputs]
    return [string_array(v) if isinstance(v, dict) and "strings" in v else v for v in values]


def read_recorded(folder: Path, kind: str) -> list[tuple[str, Any]]:
    """Names and values of one kind, `in:` or `out:`, from ref.npz and, if there is one, ref.json."""
    with np.load(folder / "ref.npz") as archive:
        values: dict[str, Any] = dict(archive)
    other = folder / "ref.json"
    if other.exists():
        values |= json.loads(other.read_text())
    return [(name.removeprefix(kind), value) for name, value in values.items() if name.startswith(kind)]


def string_array(document: Mapping[str, Any]) -> Array:
    """An array of strings."""
    strings: Array = np.array(document["strings"], object)
    return strings.reshape(document["shape"])


def max_difference(outputs: Sequence[RuntimeValue], answers: Sequence[RuntimeValue]) -> float:
    """The largest difference of outputs from the stored ones; infinite if strings differ, NaN if keys of maps do."""
    assert len(outputs) == len(answers), "an output has no stored counterpart"
    return max(map(output_difference, outputs, answers))


def output_difference(output: RuntimeValue, answer: RuntimeValue) -> float:
    match output, answer:
        case [list(), list()] if len(output) == len(answer):
            return max(map(output_difference, output, answer), default=0.0)
        case [dict(), dict()] if output.keys() == answer.keys():
            return max_relative_difference([numbers(output, answer)], [numbers(answer, answer)])
        case [np.ndarray(), np.ndarray()] if answer.dtype.kind == "O":
            return 0.0 if np.array_equal(output, answer) else math.inf
    return max_relative_difference([output], [answer])


def numbers(mapping: Mapping[Any, Any], keys: Iterable[Any]) -> Array:
    return np.array([mapping[key] for key in keys], np.float32)


# --- the table ------------------------------------------------------------------------------


def section(cases: Sequence[Case] | None = None, method: Method = MEDIANS) -> str | None:
    """The table for docs/generated/benchmarks.md; None if the models are missing."""
    if cases is None:
        cases = measure(model_names(), [1, 2], method)
    note = [BUSY_NOTE] if method.least else []
    return "\n\n".join([*note, table(cases), geometric_means(cases)]) if cases else None


def table(cases: Iterable[Case]) -> str:
    columns = [f"{tool}, {what}" for tool in ENGINES for what in ("ms", "difference")]
    lines = [header("model", "engine", "threads", *columns, "ratio")]
    for case in cases:
        columns_of_case = [part for tool in ENGINES for part in cells(case, tool)]
        lines.append(line(case.name, case.engine, case.threads, *columns_of_case, ratio(case.ratio)))
    return "\n".join(lines)


def cells(case: Case, tool: str) -> tuple[str, str]:
    """Milliseconds of a run and the difference, or the reason why the tool does not run the model."""
    timing = case.timed.get(tool)
    if timing is None:
        return case.why[tool], ""
    return spread_text(timing, case.method), f"{timing.difference:.1e}"


def geometric_means(cases: Sequence[Case]) -> str:
    """The geometric mean of the ratios for each number of threads, and the number of ratios above 1."""
    parts = []
    for threads in sorted({case.threads for case in cases}):
        ratios = [case.ratio for case in cases if case.threads == threads and not math.isnan(case.ratio)]
        if ratios:
            mean = statistics.geometric_mean(ratios)
            faster = sum(value > 1 for value in ratios)
            parts.append(f"{threads} threads: {mean:.2f} over {len(ratios)} models, {faster} of them above 1")
    return f"Geometric means of the ratios: {'; '.join(parts)}."


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", help="comma-separated names of models")
    parser.add_argument("--threads", default="1,2", help="comma-separated numbers of threads (%(default)s)")
    parser.add_argument("--turns", type=int, default=Method.turns, help="runs of each engine (%(default)s)")
    args = parser.parse_args()
    models = args.only.split(",") if args.only else model_names()
    print(section(measure(models, [int(n) for n in args.threads.split(",")], Method(args.turns))))


if __name__ == "__main__":
    main()
