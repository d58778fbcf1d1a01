"""Type inference: types and symbolic shapes of every value of a model, in node order."""

from __future__ import annotations

from sardonyx._src.arguments import require_type
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.observer import InferenceObserver
from sardonyx._src.infer.omissions import find_omissions
from sardonyx._src.infer.scope import InferenceScope, Walk
from sardonyx._src.infer.state import InferenceState
from sardonyx._src.io.garbage_collection import pause_gc
from sardonyx._src.io.loading.load import ModelSource, resolve_model
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir import Model
from sardonyx._src.ir.walk import location


@dataclass(frozen=True, slots=True)
class PartialInference:
    """A model with all types that could be inferred, and the contradictions found; true if there are none."""

    model: Model
    errors: tuple[InferenceError, ...]

    @property
    def ok(self) -> bool:
        return not self.errors

    def __bool__(self) -> bool:
        return self.ok


def infer(model: ModelSource, *, observer: InferenceObserver | None = None) -> Model:
    """Types every value of the model, including subgraphs and function bodies, and returns the model.

    Sizes are numbers, or expressions over the dimension variables of the inputs.  Declared types are kept
    if nothing more precise can be inferred, as for the outputs of unknown operators.  The `observer` is called for
    every node and every declared type.

    Raises InferenceError, naming the node, if declared or inferred types contradict each other or an operator, or if a
    node cannot be called; the model is then unchanged.  `sx.tools.infer_partially` lists such errors instead.  A
    contradiction in a branch of If is an error only if the branch is known to be taken, or if an element type is wrong.

    Output types of operators are cached for later models of the process (`infer.memo_cache`).
    """
    return infer_types(model, None, observer)


def infer_partially(model: ModelSource, *, observer: InferenceObserver | None = None) -> PartialInference:
    """Types the values of the model like `sx.infer`, continues with the declared types after an error, and lists the errors.

    Raises the errors of loading, and LimitError for graphs nested too deep.
    """
    errors: list[InferenceError] = []
    return PartialInference(infer_types(model, errors, observer), tuple(errors))


def infer_types(
    model: ModelSource, errors: list[InferenceError] | None, observer: InferenceObserver | None
) -> Model:
    """The model with inferred types; errors are appended to the list, or raised if it is None."""
    model = resolve_model(model)
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
    """The walk over the main graph and the training graphs; functions are walked when they are called."""
    for omission in find_omissions(model):
        if omission.is_certain:
            state.report(InferenceError(omission.why, location=location(omission.node)))
    main = InferenceScope(state, model.opset_imports)
    yield main.graph(model.graph)
    for step in model.training:
        for graph in (step.initialization, step.algorithm):
            if graph is not None:
                yield main.graph(graph)


def run_walk(walk: Walk) -> None:
    """Runs a walk and the walks that it yields on an explicit stack, so that Python's does not limit nesting."""
    waiting = [walk]
    while waiting:
        inner = next(waiting[-1], None)
        if inner is None:
            waiting.pop()
        else:
            waiting.append(inner)
