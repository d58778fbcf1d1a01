"""Which nodes of the shared models run as reference kernels, and why?

The models are in ../shared/models, with inputs.  Each is run a few times, so that its programs are specialised for the
branches and ranks of the runs (docs/architecture/compiler.md); listed are the fallback operations of the program that ran last.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import sardonyx as sx
from latency import header, line
from optimizing import MODELS
from sardonyx._src.compile.printing.fallbacks import fallback_reason
from sardonyx._src.compile.program.program import FallbackOp, Program
from sardonyx._src.errors import SardonyxError
from sardonyx._src.runtime.engine import NativeEngine
from shared_models import feeds_of, model_names

PAGE = Path(__file__).parents[1] / "docs" / "generated" / "fallbacks.md"
RUNS = 3  # the second one is the first that can be specialised
INTRODUCTION = """# Fallback operations of the shared models

Written by `bench/fallbacks.py`. After three runs with the stored inputs: the nodes of each model that run as reference kernels, with their number, and the reason. "assumes" is what the
program is specialised for ([compiler.md](../architecture/compiler.md#regions))."""


def page(models: Iterable[str]) -> str:
    """The page for docs/generated."""
    rows = [row for name in models for row in rows_of(name)]
    return (
        "\n\n".join([INTRODUCTION, "\n".join([header("model", "nodes", "operators", "reason"), *rows])])
        + "\n"
    )


def rows_of(name: str) -> Iterator[str]:
    """A row for each reason; one row for a model that is native, or does not run."""
    try:
        session = sx.Session(MODELS / name / "model.onnx", threads=1)
        for _ in range(RUNS):
            session.run(feeds_of(MODELS / name))
    except SardonyxError as error:
        yield line(name, "", "", f"does not run: {' '.join(str(error).split())}")
        return
    engine = session._runner
    if not isinstance(engine, NativeEngine):
        yield line(name, "all", "", "the reference engine runs the model")
        return
    assumed = f"; assumes {engine.assumptions}" if engine.assumptions else ""
    reasons = Counter(fallbacks(engine.natives[0].program))
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
        "--only", help="comma-separated names of models; prints the page instead of writing it"
    )
    args = parser.parse_args()
    if args.only:
        print(page(args.only.split(",")), end="")
    else:
        PAGE.write_text(page(model_names()))


if __name__ == "__main__":
    main()
