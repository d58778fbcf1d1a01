"""Types and symbolic shapes of every value of a model: one walk in the order of the nodes."""

from __future__ import annotations

from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.body import Body, Walk
from sardonyx._src.infer.findings import Findings
from sardonyx._src.infer.witness import Witness
from sardonyx._src.io.load import without_collection
from sardonyx._src.io.nesting import nesting_limited
from sardonyx._src.ir.graph import Model


def infer(
    model: Model, *, errors: list[InferenceError] | None = None, witness: Witness | None = None
) -> Model:
    """Puts a type on every value of the model, subgraphs and function bodies included, and hands it back.

    Sizes are numbers, or expressions over the dimension variables of the inputs.  What the model declares is kept
    where nothing better is known.  Raises InferenceError, naming the node, where declared or inferred types
    contradict each other or an operator, or where a node cannot be called as it is; with `errors` it is added to
    that list, and the walk goes on with what the model declares.  Nodes of operators that nobody knows leave their
    outputs as declared.  A model that raises is left as it was.  A `witness` is told of every node and declaration.

    What operators answer is kept, within bounds, for later models of the process (`infer.answers`).
    """
    findings = Findings(model, errors, witness=witness)
    done = False
    try:
        with without_collection(), nesting_limited():
            run(model_walk(model, findings))
            findings.settle()
        done = True
    finally:
        if not done:
            findings.restore()
    return model


def model_walk(model: Model, findings: Findings) -> Walk:
    main = Body(findings, model.opset_imports)
    yield main.graph(model.graph)
    for step in model.training:
        for graph in (step.initialization, step.algorithm):
            if graph is not None:
                yield main.graph(graph)


def run(first: Walk) -> None:
    """Runs a walk and those that it waits for: the stack is our own, however deep graphs and calls are nested."""
    waiting = [first]
    while waiting:
        inner = next(waiting[-1], None)
        if inner is None:
            waiting.pop()
        else:
            waiting.append(inner)
