"""Whether the duration of a session's runs is known from earlier ones with inputs of the same sizes."""

from __future__ import annotations

from sardonyx._src.compile.program.steps.program import FallbackOp
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.session.session import Session


def has_predictable_runs(session: Session) -> bool:
    """Whether the sizes of inputs determine the work of a run: no computed value decides on a size, a loop or a branch.

    False for a model that the reference engine runs, since only compiled programs are analyzed.
    """
    engine = session._runner
    if not isinstance(engine, NativeEngine) or engine.specialized is not None:
        return False
    native = engine.native
    functions = native.program.model.functions
    calls_graphs = any(
        isinstance(action, FallbackOp)
        and (
            action.node.subgraphs
            or (action.node.domain, action.node.op_type, action.node.overload) in functions
        )
        for action in native.program.actions
    )
    return not (native.bindings or native.has_loops or calls_graphs)
