"""How fast are scikit-learn's models, other than trees, as skl2onnx exports them?

Each pipeline is fitted to random data of a fixed seed and exported with `skl2onnx.to_onnx`.  The engines are called in turn, in
one process, each after the threads of the others have come to rest.  Times are medians of a run in ms; the last columns are the times
of the other engines over Sardonyx's.  scikit-learn computes labels and scores in separate calls; measured is that of the scores.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from latency import header, line
from measure import commit, machine
from measured_cases import Fields, MeasuredCases
from sardonyx._src.ir import Array
from sardonyx._src.measure.engines import OURS, open_engine
from sardonyx._src.measure.timing import collect_outputs, interleave_calls

PACKAGES = ("sklearn", "skl2onnx", "onnxruntime")
OTHERS = ("onnxruntime", "scikit-learn")
ROWS = (1, 10, 1_000, 100_000, 1_000_000)
FEATURES, FITTED_ROWS, SEED, ROUNDS = 20, 2_000, 7, 11
LONG_ROUNDS, MAX_SHORT_ROWS = 2, 10_000  # rounds of calls with more rows than the last
MAX_KERNEL_ELEMENTS = 2e7  # rows times training rows, for models that compare them


@dataclass(frozen=True)
class Pipeline:
    """A fitted pipeline with its ONNX export.

    draw: random feeds of a number of rows, by input.  predict: scikit-learn's scores of the same feeds.  compared: the
    training rows with which each row is compared.
    """

    name: str
    content: bytes
    draw: Callable[[int], dict[str, Array]]
    predict: Callable[[Mapping[str, Array]], object]
    compared: int = 1


@dataclass(frozen=True)
class Timings:
    """Median seconds of a run by engine."""

    pipeline: str
    rows: int
    threads: int
    seconds: Mapping[str, float]

    def ratio(self, engine: str) -> float:
        """The time of another engine over ours; NaN if it was not measured."""
        return self.seconds.get(engine, math.nan) / self.seconds[OURS]


def pipelines() -> Iterator[Pipeline]:
    """All pipelines, fitted."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, LinearSVR

    x = draw_rows(FITTED_ROWS)["X"]
    classes = np.digitize(x[:, 0] + x[:, 1] * x[:, 2], [-0.5, 0.5])
    names = np.array(["ham", "spam", "eggs"])[classes]
    plain = {"zipmap": False}
    logistic = make_pipeline(StandardScaler(), LogisticRegression())
    yield export("scaler and logistic regression", logistic.fit(x, classes > 0), plain)
    logistic = make_pipeline(StandardScaler(), LogisticRegression())
    yield export("the same, string labels and maps", logistic.fit(x, names), {})
    logistic = make_pipeline(StandardScaler(), LogisticRegression())
    yield export("the same, float64", logistic.fit(x, classes), plain, np.float64)
    yield export("support vectors, RBF", SVC().fit(x, classes), plain, compared=FITTED_ROWS)
    yield export("linear support vector regression", LinearSVR().fit(x, x[:, 0]), None)
    neighbors = KNeighborsClassifier().fit(x, classes)
    yield export(
        "nearest neighbors",
        neighbors,
        plain | {"optim": "cdist"},
        compared=FITTED_ROWS,
        target_opset={"": 18, "ai.onnx.ml": 3, "com.microsoft": 1},
    )
    yield mixed_columns(classes)


def draw_rows(rows: int, dtype: type = np.float32) -> dict[str, Array]:
    """Standard normal features."""
    return {"X": np.random.default_rng(SEED).normal(size=(rows, FEATURES)).astype(dtype)}


def export(
    name: str,
    model: Any,
    options: Mapping[str, object] | None,
    dtype: type = np.float32,
    *,
    compared: int = 1,
    **settings: object,
) -> Pipeline:
    """A fitted model of numeric features."""
    from skl2onnx import to_onnx

    exported = to_onnx(model, draw_rows(1, dtype)["X"], options=options, **settings)
    scores = getattr(model, "predict_proba", model.predict)
    return Pipeline(
        name,
        exported.SerializeToString(),
        partial(draw_rows, dtype=dtype),
        lambda feeds: scores(feeds["X"]),
        compared,
    )


def mixed_columns(classes: Array) -> Pipeline:
    """Missing numbers imputed and scaled, categories one-hot: the numbers of the categories are columns of floats."""
    from skl2onnx import to_onnx
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers, categories = list(range(FEATURES - 3)), list(range(FEATURES - 3, FEATURES))
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            ("categories", OneHotEncoder(handle_unknown="ignore"), categories),
        ]
    )
    x = draw_columns(FITTED_ROWS)["X"]
    model = make_pipeline(columns, LogisticRegression()).fit(x, classes > 0)
    exported = to_onnx(model, x[:1], options={"zipmap": False})
    return Pipeline(
        "imputer, one-hot and logistic regression",
        exported.SerializeToString(),
        draw_columns,
        lambda feeds: model.predict_proba(feeds["X"]),
    )


def draw_columns(rows: int) -> dict[str, Array]:
    """Features of which a twentieth is missing, and three columns of 8 categories."""
    generator = np.random.default_rng(SEED)
    x = generator.normal(size=(rows, FEATURES)).astype(np.float32)
    x[generator.random(x.shape) < 1 / FEATURES] = np.nan
    x[:, -3:] = generator.integers(0, 8, size=(rows, 3))
    return {"X": x}


def measure(
    selected: Iterable[Pipeline],
    threads: Iterable[int],
    sizes: Iterable[int] = ROWS,
    rounds: int = ROUNDS,
    cases: MeasuredCases | None = None,
) -> Iterator[Timings]:
    """The timings of each pipeline for each number of threads and rows, except for `cases`; printed as JSON, too."""
    counts, lengths, cases = list(threads), list(sizes), cases or MeasuredCases()
    for pipeline in selected:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            path.write_bytes(pipeline.content)
            for count in counts:
                for rows in lengths:
                    if rows * pipeline.compared <= MAX_KERNEL_ELEMENTS:
                        most = rounds if rows <= MAX_SHORT_ROWS else min(rounds, LONG_ROUNDS)
                        case = partial(measure_fields, pipeline, path, count, rows, most)
                        yield Timings(**cases.measure(("classical", pipeline.name, count, rows), case))


def measure_fields(pipeline: Pipeline, path: Path, threads: int, rows: int, rounds: int) -> Fields:
    return asdict(measure_rows(pipeline, path, threads, rows, rounds))


def measure_rows(pipeline: Pipeline, path: Path, threads: int, rows: int, rounds: int) -> Timings:
    """The timings for one number of rows."""
    feeds = pipeline.draw(rows)
    calls: dict[str, Callable[[], object]] = {
        engine: partial(collect_outputs, open_engine(engine, str(path), threads), feeds)
        for engine in (OURS, "onnxruntime")
    }
    if threads == 1:
        calls["scikit-learn"] = partial(pipeline.predict, feeds)
    samples = interleave_calls(calls, rounds, lambda: None)
    seconds = {engine: float(np.median(runs)) for engine, runs in samples.items()}
    facts = {"what": pipeline.name, "rows": rows, "threads": threads, "seconds": seconds}
    print(json.dumps({**facts, "commit": commit(), "machine": machine()}), flush=True)
    return Timings(pipeline.name, rows, threads, seconds)


def section(results: Iterable[Timings] | None = None, cases: MeasuredCases | None = None) -> str | None:
    """The table for docs/generated/benchmarks.md; None if a package is not installed.

    cases: those that are not measured again.
    """
    if results is None:
        missing = [package for package in PACKAGES if find_spec(package) is None]
        if missing:
            print(f"not measured: {', '.join(missing)} must be installed (dependency group bench-trees)")
            return None
        results = measure(pipelines(), [1, 2], cases=cases)
    timings = list(results)
    columns = [f"{engine}, ms" for engine in (OURS, *OTHERS)]
    lines = [header("model", "rows", "threads", *columns, *(f"{other} over ours" for other in OTHERS))]
    for each in timings:
        times = [number(each.seconds.get(engine, math.nan) * 1e3) for engine in (OURS, *OTHERS)]
        ratios = [number(each.ratio(other)) for other in OTHERS]
        lines.append(line(each.pipeline, f"{each.rows:,}", each.threads, *times, *ratios))
    means = ", ".join(f"{geometric_mean(each.ratio(o) for each in timings):.2f} ({o})" for o in OTHERS)
    return "\n".join([*lines, "", f"Geometric means of the last columns: {means}."])


def number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3g}"


def geometric_mean(ratios: Iterable[float]) -> float:
    """Of the ratios that are numbers; NaN if there is none."""
    logarithms = [math.log(ratio) for ratio in ratios if not math.isnan(ratio)]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--threads", default="1,2", help="comma-separated numbers of threads (%(default)s)")
    parser.add_argument(
        "--rows", default=",".join(map(str, ROWS)), help="comma-separated numbers (%(default)s)"
    )
    parser.add_argument("--only", default="", help="prefix of the names of pipelines")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="bursts of each engine (%(default)s)")
    args = parser.parse_args()
    selected = (pipeline for pipeline in pipelines() if pipeline.name.startswith(args.only))
    threads, rows = ([int(n) for n in text.split(",")] for text in (args.threads, args.rows))
    print(section(measure(selected, threads, rows, args.rounds)))


if __name__ == "__main__":
    main()
