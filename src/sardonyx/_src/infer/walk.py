"""Type inference: types and symbolic shapes of every value of a model, in node order."""

from __future__ import annotations

from sardonyx._src.arguments import require_type
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.observer import InferenceObserver
from sardonyx._src.infer.scope import InferenceScope, Walk
from sardonyx._src.infer.state import InferenceState
from sardonyx._src.io.loading.load import ModelSource, pause_gc, resolve_model
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir.model import Model


def infer(
    model: ModelSource,
    *,
    errors: list[InferenceError] | None = None,
    observer: InferenceObserver | None = None,
) -> Model:
    """Types every value of the model, including subgraphs and function bodies, and returns the model.

    Sizes are numbers, or expressions over the dimension variables of the inputs.  Declared types are kept
    where nothing more precise can be inferred, as for the outputs of unknown operators.  Raises
    InferenceError, naming the node, where declared or inferred types contradict each other or an operator, or
    where a node cannot be called; with
    `errors` it is appended to that list instead, and inference continues with the declared types.  A model
    for which it raises is left unchanged.  The `observer` is called for every node and every declared type.

    Output types of operators are cached for later models of the process (`infer.memo_cache`).
    """
    model = resolve_model(model)
    require_type("errors", errors, (list, type(None)), "a list to append to, or None")
    require_type("observer", observer, (InferenceObserver, type(None)), "an InferenceObserver or None")
    state = InferenceState(model, errors, observer=observer)
    done = False
    try:
        with pause_gc(), limit_nesting():
            run_walk(model_walk(model, state))
            state.finalize()
        done = True
    finally:
        if not done:
            state.restore()
    return model


def model_walk(model: Model, state: InferenceState) -> Walk:
    main = InferenceScope(state, model.opset_imports)
    yield main.graph(model.graph)
    for step in model.training:
        for graph in (step.initialization, step.algorithm):
            if graph is not None:
                yield main.graph(graph)


def run_walk(walk: Walk) -> None:
    """Runs a walk and those that it waits for on an explicit stack, so that nesting is not limited by
    Python's."""
    waiting = [walk]
    while waiting:
        inner = next(waiting[-1], None)
        if inner is None:
            waiting.pop()
        else:
            waiting.append(inner)
