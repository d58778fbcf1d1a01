"""How many nodes do `sx.optimize` and onnxslim leave of real models, and how long do they take?

Nodes of subgraphs and functions are counted, too.  Both get the model loaded and hand back a model; neither proves its
result meanwhile.  Weights of the networks of the wheel are made by ConstantOfShape nodes; onnxslim computes them however much
the file grows, and so do we here, with `growth` to match.  Results of ours are compared with those of the original on
generated inputs outside of the timing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from measure import FOLDER, Row, row
from networks import paths

RUNS = 3
GROWTH = 1 << 40  # bytes: without bound
MODELS = FOLDER.parent.parent / "shared" / "models"


@dataclass(frozen=True)
class Outcome:
    """What is left of one model: nodes by tool, ours proved on so many sets of inputs (None: not provable)."""

    name: str
    before: int
    ours: int
    theirs: int | None
    proved: int | None


def models() -> Iterator[tuple[str, Path]]:
    """The networks of the onnx wheel, and the models that stand beside the project."""
    for path in paths():
        yield path.stem, path
    for path in sorted(MODELS.glob("*/model.onnx")):
        yield path.parent.name, path


def outcomes() -> Iterator[tuple[Outcome, list[Row]]]:
    for name, path in models():
        yield outcome(name, path), timed(name, path)


def outcome(name: str, path: Path) -> Outcome:
    import onnx

    import sardonyx as sx
    from sardonyx._src.rewrite.report import OptimizationReport

    report = OptimizationReport()
    result = sx.optimize(sx.load(path), verify=True, growth=GROWTH, report=report)
    again = OptimizationReport()
    sx.optimize(result, growth=GROWTH, report=again)
    assert not again.edits, f"{name}: a second run goes on with {again.edits[0]}"
    slim = slimmed(onnx.load(path))
    theirs = None if slim is None else count(slim.graph) + sum(count(f) for f in slim.functions)
    return Outcome(name, report.nodes_before, report.nodes_after, theirs, report.proved or None)


def timed(name: str, path: Path) -> list[Row]:
    """Rows of both tools, in turn; the first turn warms up and does not count."""
    import onnx

    import sardonyx as sx

    model = sx.load(path)
    tools: dict[str, Callable[[], object]] = {
        "sardonyx": lambda: sx.optimize(model, growth=GROWTH),
        "onnxslim": lambda: slimmed(onnx.load(path)),
    }
    loading = min(seconds(lambda: onnx.load(path)) for _ in range(RUNS))
    samples: dict[str, list[dict[str, float]]] = {tool: [] for tool in tools}
    for turn in range(RUNS + 1):
        for tool, run in tools.items():
            took = seconds(run) - (loading if tool == "onnxslim" else 0)
            if turn:
                samples[tool].append({"seconds": max(took, 0), "bytes": 0})
    return [row(f"optimising {name}", tool, found) for tool, found in samples.items()]


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def slimmed(model):  # type: ignore[no-untyped-def]  # messages of another package
    """What onnxslim makes of a model, which it changes in place; None where it fails."""
    import onnxslim

    logging.disable(logging.CRITICAL)
    try:
        return onnxslim.slim(model)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # of another tool: whatever it is, it is a row
        print(f"onnxslim fails: {error}")
        return None
    finally:
        logging.disable(logging.NOTSET)


def count(graph) -> int:  # type: ignore[no-untyped-def]  # a message of another package
    inner = [a for node in graph.node for a in node.attribute]
    return len(graph.node) + sum(
        count(g) for a in inner for g in (*([a.g] if a.HasField("g") else []), *a.graphs)
    )


def table(found: list[tuple[Outcome, list[Row]]]) -> str:
    lines = [
        "| model | nodes | sardonyx | onnxslim | sardonyx, ms | onnxslim, ms | proved on |",
        "|---|---|---|---|---|---|---|",
    ]
    for one, (ours, theirs) in found:
        proved = f"{one.proved} sets of inputs" if one.proved else "not provable"
        lines.append(
            f"| {one.name} | {one.before} | {one.ours} | {'fails' if one.theirs is None else one.theirs} "
            f"| {ours.seconds * 1e3:.0f} | {theirs.seconds * 1e3:.0f} | {proved} |"
        )
    return "\n".join(lines)


def section() -> str:
    """The table for docs/generated/benchmarks.md."""
    return table(list(outcomes()))


if __name__ == "__main__":
    print(section())
