"""How many nodes remain of real models after `sx.optimize` and after onnxslim, and how long do both take?

Nodes of subgraphs and functions are counted, too.  Both tools take a loaded model and return a model; verification is
not part of the time.  The weights of the networks in the onnx wheel are made by ConstantOfShape nodes; onnxslim folds
them regardless of how much the file grows, and so does Sardonyx here, with `growth` set accordingly.  The outputs of its
optimized models are compared with those of the originals on generated inputs, outside of the timed part.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from measure import FOLDER, Row, row
from networks import paths

if TYPE_CHECKING:
    from onnx import FunctionProto, GraphProto, ModelProto

RUNS = 3
UNLIMITED_GROWTH_BYTES = 1 << 40
MODELS = FOLDER.parent.parent / "shared" / "models"


@dataclass(frozen=True)
class Outcome:
    """Numbers of nodes of one model: before, and after each tool (`theirs`: None if it fails).

    proved: the number of sets of inputs on which our result was verified; None if it cannot be.
    """

    name: str
    before: int
    ours: int
    theirs: int | None
    proved: int | None


def models() -> Iterator[tuple[str, Path]]:
    """Names and paths of the networks of the onnx wheel and of the shared models."""
    for path in paths():
        yield path.stem, path
    for path in sorted(MODELS.glob("*/model.onnx")):
        yield path.parent.name, path


def outcomes() -> Iterator[tuple[Outcome, list[Row]]]:
    for name, path in models():
        yield measure_outcome(name, path), time_tools(name, path)


def measure_outcome(name: str, path: Path) -> Outcome:
    import onnx

    import sardonyx as sx

    optimization = sx.tools.optimize_with_report(sx.load(path), verify=True, growth=UNLIMITED_GROWTH_BYTES)
    result, report = optimization.model, optimization.report
    again = sx.tools.optimize_with_report(result, growth=UNLIMITED_GROWTH_BYTES).report
    assert not again.edits, f"{name}: a second run must change nothing; got {again.edits[0]}"
    slim = run_onnxslim(onnx.load(path))
    theirs = None if slim is None else count_nodes(slim.graph) + sum(count_nodes(f) for f in slim.functions)
    return Outcome(name, report.nodes_before, report.nodes_after, theirs, report.proved or None)


def time_tools(name: str, path: Path) -> list[Row]:
    """Rows of both tools, run in turn; the first run warms up and is not counted."""
    import onnx

    import sardonyx as sx

    model = sx.load(path)
    tools: dict[str, Callable[[], object]] = {
        "sardonyx": lambda: sx.optimize(model, growth=UNLIMITED_GROWTH_BYTES),
        "onnxslim": lambda: run_onnxslim(onnx.load(path)),
    }
    loading = min(time_call(lambda: onnx.load(path)) for _ in range(RUNS))
    samples: dict[str, list[dict[str, float]]] = {tool: [] for tool in tools}
    for turn in range(RUNS + 1):
        for tool, run in tools.items():
            took = time_call(run) - (loading if tool == "onnxslim" else 0)
            if turn:
                samples[tool].append({"seconds": max(took, 0), "bytes": 0})
    return [row(f"optimizing {name}", tool, timings) for tool, timings in samples.items()]


def time_call(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def run_onnxslim(model: ModelProto) -> ModelProto | None:
    """The result of onnxslim, which changes the model in place; None if it fails."""
    import onnxslim

    logging.disable(logging.CRITICAL)
    try:
        return onnxslim.slim(model)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # any failure of the other tool is a row
        print(f"onnxslim fails: {error}")
        return None
    finally:
        logging.disable(logging.NOTSET)


def count_nodes(graph: GraphProto | FunctionProto) -> int:
    inner = [a for node in graph.node for a in node.attribute]
    return len(graph.node) + sum(
        count_nodes(g) for a in inner for g in (*([a.g] if a.HasField("g") else []), *a.graphs)
    )


def table(results: list[tuple[Outcome, list[Row]]]) -> str:
    lines = [
        "| model | nodes | sardonyx | onnxslim | sardonyx, ms | onnxslim, ms | proved on |",
        "|---|---|---|---|---|---|---|",
    ]
    for outcome, (ours, theirs) in results:
        proved = f"{outcome.proved} sets of inputs" if outcome.proved else "not provable"
        lines.append(
            f"| {outcome.name} | {outcome.before} | {outcome.ours} | {'fails' if outcome.theirs is None else outcome.theirs} "
            f"| {ours.seconds * 1e3:.0f} | {theirs.seconds * 1e3:.0f} | {proved} |"
        )
    return "\n".join(lines)


def section() -> str:
    """The table for docs/generated/benchmarks.md."""
    return table(list(outcomes()))


if __name__ == "__main__":
    print(section())
