"""Which nodes run as reference kernels, and why: in the shared models, in exporters' models and in the official suite?

The shared models are in ../shared/models, and those of exporters in .bench/exported (`bench/exported.py` makes them), with
inputs.  Each is run a few times, as are the cases of the official suite, so that its programs are specialized for the
branches, ranks and parameters of the runs (docs/architecture/compiler.md); listed are the fallback operations of the program
that ran last.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import shorten

import numpy as np

import sardonyx as sx
from exported import MODELS as EXPORTED
from latency import header, line
from optimizing import MODELS
from sardonyx._src.compile.printing.fallbacks import fallback_reason
from sardonyx._src.compile.program.steps.program import FallbackOp, Program
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import Array
from sardonyx._src.runtime.engine.engine import NativeEngine
from shared_models import Feeds, feeds_of, model_names

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from conformance.official import OfficialCase, official_cases

PAGE = Path(__file__).parents[1] / "docs" / "generated" / "fallbacks.md"
REASON_LENGTH = 160  # characters of a reason in the table of the suite
RUNS = 4  # the second one is specialized for branches and ranks, the third for elements of parameters
INTRODUCTION = """# Fallback operations

Written by `bench/fallbacks.py`: the nodes that run as reference kernels, and the reason. [operators.md](operators.md#operators-without-native-kernels) lists the operators that do so whatever their types.

## Shared models

After four runs with the stored inputs: the nodes of each model, with their number. "assumes" is what the program is specialized for ([compiler.md](../architecture/compiler.md#regions))."""
EXPORTERS = """## Models of exporters

The small random models that the scripts of bench/exporters make, after four runs; those that are not listed are native. {native} of {models} are native."""
SUITE = """## Official suite

By operator: the number of cases of the onnx wheel, {cases} in all, in which nodes of the operator are fallback operations after four runs with the stored inputs, and the reason in the first of them. {native} cases are native: {first} from their first run on, the others once a program is specialized for what runs tell."""
COLUMNS = header("model", "nodes", "operators", "reason")


def page() -> str:
    """The page for docs/generated."""
    sections = [INTRODUCTION, shared_models_table(model_names()), *exporters_section(), *suite_section()]
    return "\n\n".join(sections) + "\n"


def shared_models_table(names: Iterable[str]) -> str:
    rows = [
        row for name in names for row in rows_of(name, MODELS / name / "model.onnx", feeds_of(MODELS / name))
    ]
    return "\n".join([COLUMNS, *rows])


def exporters_section() -> Iterator[str]:
    """Text and table; nothing if no model was made."""
    paths = sorted(EXPORTED.glob("*/*.onnx"))
    if not paths:
        return
    rows = {path: list(rows_of(path.stem, path, stored_feeds(path))) for path in paths}
    listed = [row for model_rows in rows.values() for row in model_rows if not row.endswith("| native |")]
    native = sum(model_rows[0].endswith("| native |") for model_rows in rows.values())
    yield EXPORTERS.format(native=native, models=len(paths))
    if listed:
        yield "\n".join([COLUMNS, *listed])


def stored_feeds(path: Path) -> dict[str, Array]:
    with np.load(path.with_suffix(".npz")) as archive:
        return dict(archive)


def suite_section() -> Iterator[str]:
    """Text and table: a row for each operator of which nodes fall back in cases of the official suite."""
    cases: Counter[str] = Counter()
    reasons: dict[str, str] = {}
    native = first = 0
    for case in official_cases():
        at_first, at_last = case_fallbacks(case)
        first += not at_first
        native += not at_last
        cases.update(at_last.keys())
        reasons = {**at_last, **reasons}
    yield SUITE.format(cases=len(official_cases()), native=native, first=first)
    rows = (
        line(operator, cases[operator], shorten(reasons[operator], REASON_LENGTH))
        for operator in sorted(cases)
    )
    yield "\n".join([header("operator", "cases", "reason in the first"), *rows])


def case_fallbacks(case: OfficialCase) -> tuple[dict[str, str], dict[str, str]]:
    """Operators and reasons in the general program of a case, and in the one that ran last."""
    model = case.load()
    try:
        with warnings.catch_warnings(action="ignore"):
            session = sx.Session(model, engine="native", threads=1)
            inputs, _ = next(case.data_sets(model))
            names = [v.name for v in session.inputs if case.kind != "real" or not v.has_default]
            for _ in range(RUNS):
                session.run(dict(zip(names, inputs, strict=False)))
    except SardonyxError as error:
        failed = {"(none: the case does not run)": " ".join(str(error).split())}
        return failed, failed
    engine = session._runner
    assert isinstance(engine, NativeEngine)
    return dict(fallbacks(engine.native.program)), dict(fallbacks(last_program(engine)))


def last_program(engine: NativeEngine) -> Program:
    """The program of the last run with all checks."""
    return (
        engine.native.program
        if engine.specialized is None
        else engine.specialized.last_program.native.program
    )


def rows_of(name: str, path: Path, feeds: Feeds) -> Iterator[str]:
    """A row for each reason; one row for a model that is native, or does not run."""
    try:
        session = sx.Session(path, threads=1)
        for _ in range(RUNS):
            session.run(feeds)
    except SardonyxError as error:
        yield line(name, "", "", f"does not run: {' '.join(str(error).split())}")
        return
    engine = session._runner
    if not isinstance(engine, NativeEngine):
        yield line(name, "all", "", "the reference engine runs the model")
        return
    assumed = f"; assumes {engine.assumptions}" if engine.assumptions else ""
    reasons = Counter(fallbacks(last_program(engine)))
    for (operator, reason), count in sorted(reasons.items()):
        yield line(name, count, operator, reason + assumed)
    if not reasons:
        yield line(name, 0, "", f"native{assumed}")


def fallbacks(program: Program) -> Iterator[tuple[str, str]]:
    """The operator of each fallback operation, with the reason."""
    for action in program.actions:
        if isinstance(action, FallbackOp):
            yield action.node.op_type, fallback_reason(action.node, program.model)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument(
        "--only", help="comma-separated names of shared models; prints the page instead of writing it"
    )
    args = parser.parse_args()
    if args.only:
        print(shared_models_table(args.only.split(",")))
    else:
        PAGE.write_text(page())


if __name__ == "__main__":
    main()
