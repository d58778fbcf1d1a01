"""How fast are small random models as exporters write them, compared with onnxruntime and OpenVINO?

Each script of bench/exporters runs in an environment of its own, with the versions that it states, and exports CNNs,
transformers, recurrent networks, detectors, pipelines or language models.  All engines run the same file on the same inputs in
one process, in turn, with float32 arithmetic and otherwise their defaults.  Times are medians.  A ratio is the time of the
faster peer over ours: above 1, Sardonyx is faster than both.  Fallbacks are nodes of the model that ran on reference kernels.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import sardonyx as sx
from latency import (
    BUSY_NOTE,
    MEDIANS,
    Method,
    geometric_means,
    header,
    line,
    print_timing,
    ratio,
    spread_text,
)
from latency import Case as TimedCase
from measure import BUILD, FOLDER
from measured_cases import Fields, MeasuredCases
from peers import ENGINES
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import Array
from sardonyx._src.measure.engines import OURS, open_engine
from sardonyx._src.measure.timing import EngineTiming, interleave_calls, max_relative_difference
from sardonyx._src.ops.api import RuntimeValue

SCRIPTS, MODELS = FOLDER / "exporters", BUILD / "exported"
JUDGE = "onnxruntime"  # whose outputs are the reference
INSTALL_SECONDS, EXPORT_SECONDS = 1800, 900
REASON_LENGTH = 120  # characters of a reason in the table
Call = Callable[[], Sequence[RuntimeValue]]


@dataclass(frozen=True)
class Case:
    """Results of one model on a number of threads.

    fallbacks: our nodes on reference kernels.  timed: timings by engine; why: the error by engine that does not run it.
    """

    name: str
    threads: int
    fallbacks: int
    timed: dict[str, EngineTiming]
    why: Mapping[str, str]
    method: Method = MEDIANS

    @property
    def ratio(self) -> float:
        """The time of the faster peer over ours; NaN if either is missing."""
        return TimedCase(self.name, self.threads, self.timed, self.method).ratio


# --- models ---------------------------------------------------------------------------------


def make_models(names: Iterable[str], environments: Path | None = None) -> list[Path]:
    """The models of the exporters of these names, made where they are missing; an exporter that fails is left out, and a
    line says why.

    environments: a folder that keeps the Python environments; by default, they are removed.
    """
    for name in names:
        if not any((MODELS / name).glob("*.onnx")):
            try:
                make_models_of(name, environments)
            except (subprocess.SubprocessError, OSError) as error:
                print(json.dumps({"what": name, "skipped": failure_reason(error)}), flush=True)
    return sorted(path for name in names for path in (MODELS / name).glob("*.onnx"))


def exporter_names() -> list[str]:
    return sorted(path.stem.removeprefix("from_") for path in SCRIPTS.glob("from_*.py"))


def make_models_of(name: str, environments: Path | None) -> None:
    """Runs the script of an exporter in a new environment; raises SubprocessError if that fails."""
    script = SCRIPTS / f"from_{name}.py"
    with TemporaryDirectory() as temporary:
        environment = (environments or Path(temporary)) / name
        python = environment / "bin/python"
        if not python.exists():
            install(environment, dependencies_of(script.read_text()))
        subprocess.run(
            [python, script, MODELS / name],
            check=True,
            timeout=EXPORT_SECONDS,
            cwd=temporary,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            stdout=sys.stdout,
            stderr=subprocess.PIPE,
        )


def install(environment: Path, dependencies: Sequence[str]) -> None:
    """A Python environment with these packages."""
    subprocess.run([sys.executable, "-m", "venv", environment], check=True, capture_output=True)
    pip = [str(environment / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *dependencies], check=True, capture_output=True, timeout=INSTALL_SECONDS)


def dependencies_of(text: str) -> list[str]:
    """The packages that the metadata block of a script lists (PEP 723)."""
    block = text.partition("# /// script\n")[2].partition("# ///\n")[0]
    document = tomllib.loads("".join(part.removeprefix("#") for part in block.splitlines(keepends=True)))
    dependencies: list[str] = document["dependencies"]
    return dependencies


def failure_reason(error: Exception) -> str:
    """The last line that a failed command has written, or the error itself."""
    written = getattr(error, "stderr", None)
    lines = written.decode(errors="replace").strip().splitlines() if isinstance(written, bytes) else []
    return lines[-1] if lines else str(error)


# --- measurements ---------------------------------------------------------------------------


def measure(
    models: Iterable[Path],
    threads: Sequence[int],
    method: Method = MEDIANS,
    cases: MeasuredCases | None = None,
) -> list[Case]:
    """Measures every model on every number of threads, except for `cases`; prints a line for each engine."""
    cases = cases or MeasuredCases()
    return [
        case_of(cases.measure(("exported", path.stem, n, method), partial(measure_fields, path, n, method)))
        for path in models
        for n in threads
    ]


def measure_fields(path: Path, threads: int, method: Method) -> Fields:
    return asdict(measure_case(path, threads, method))


def case_of(fields: Fields) -> Case:
    """The case of its fields."""
    timed = {engine: EngineTiming(**timing) for engine, timing in fields["timed"].items()}
    return Case(**{**fields, "timed": timed, "method": Method(**fields["method"])})


def measure_case(path: Path, threads: int, method: Method) -> Case:
    with np.load(path.with_suffix(".npz")) as archive:
        feeds = dict(archive)
    engines = OpenEngines(path, threads, feeds)
    outputs = {engine: call() for engine, call in engines.calls.items()}
    samples = interleave_calls(engines.calls, method.turns, lambda: None)
    reference = outputs.get(JUDGE, next(iter(outputs.values()), []))
    timed = {
        engine: EngineTiming(engine, threads, runs, max_relative_difference(outputs[engine], reference))
        for engine, runs in samples.items()
    }
    for timing in timed.values():
        print_timing(path.stem, timing)
    return Case(path.stem, threads, engines.fallbacks, timed, engines.why, method)


class OpenEngines:
    """A model opened in all engines: calls by engine, errors by engine that does not run it, and our fallbacks."""

    def __init__(self, path: Path, threads: int, feeds: Mapping[str, Array]) -> None:
        self.calls: dict[str, Call] = {}
        self.why: dict[str, str] = {}
        self.fallbacks = 0
        for engine in ENGINES:
            try:
                call = self.open(engine, path, threads, feeds)
                call()
                self.calls[engine] = call
            except SardonyxError as error:
                self.why[engine] = " ".join(str(error).split())

    def open(self, engine: str, path: Path, threads: int, feeds: Mapping[str, Array]) -> Call:
        if engine == OURS:
            session = sx.Session(path, engine="native", threads=threads)
            self.fallbacks = session.stats.fallback_nodes
            return lambda: list(session.run(feeds).values())
        run = open_engine(engine, str(path), threads)
        return lambda: list(run(feeds))


# --- the table ------------------------------------------------------------------------------


def section(
    cases: Sequence[Case] | None = None, method: Method = MEDIANS, measured: MeasuredCases | None = None
) -> str | None:
    """The table for docs/generated/benchmarks.md; None if no model could be made.

    measured: cases that are not measured again.
    """
    if cases is None:
        cases = measure(make_models(exporter_names()), [1, 2], method, measured)
    note = [BUSY_NOTE] if method.least else []
    means = geometric_means([TimedCase(c.name, c.threads, c.timed, c.method) for c in cases])
    return "\n\n".join([*note, table(cases), means]) if cases else None


def table(cases: Iterable[Case]) -> str:
    columns = (f"{engine}, ms" for engine in ENGINES)
    lines = [header("model", "threads", *columns, "ratio", "difference", "fallbacks")]
    for case in cases:
        ours = case.timed.get(OURS)
        difference = "" if ours is None or math.isnan(ours.difference) else f"{ours.difference:.1e}"
        times = (time_text(case, engine) for engine in ENGINES)
        lines.append(
            line(case.name, case.threads, *times, ratio(case.ratio), difference, case.fallbacks or "")
        )
    return "\n".join(lines)


def time_text(case: Case, engine: str) -> str:
    """Milliseconds of a run, or the reason why the engine does not run the model."""
    timing = case.timed.get(engine)
    return case.why[engine][:REASON_LENGTH] if timing is None else spread_text(timing, case.method)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument(
        "--only", default=",".join(exporter_names()), help="exporters, by default %(default)s"
    )
    parser.add_argument("--models", default="", help="a part of the names of the models")
    parser.add_argument("--threads", default="1,2", help="comma-separated numbers of threads (%(default)s)")
    parser.add_argument("--turns", type=int, default=Method.turns, help="runs of each engine (%(default)s)")
    parser.add_argument("--least", action="store_true", help="compare the shortest runs, not the medians")
    parser.add_argument(
        "--environments", type=Path, help="a folder that keeps the environments of the exporters"
    )
    args = parser.parse_args()
    models = [p for p in make_models(args.only.split(","), args.environments) if args.models in p.stem]
    method = Method(args.turns, args.least)
    print(section(measure(models, [int(n) for n in args.threads.split(",")], method), method))


if __name__ == "__main__":
    main()
