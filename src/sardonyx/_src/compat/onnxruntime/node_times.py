"""Times of nodes for the profile of an onnxruntime session, measured by more runs with the feeds of its last run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.compile.printing.steps import action_kind, action_name
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.runs.profile import profile_program
from sardonyx._src.runtime.session.session import Session


@dataclass(frozen=True, slots=True)
class NodeTime:
    """The duration of a node, or of several nodes that one kernel computes.

    operator: the operator of the node, or the kind of the step for several nodes.
    """

    name: str
    operator: str
    nanoseconds: int


def measure_nodes(session: Session, feeds: Mapping[str, object]) -> list[NodeTime]:
    """The times of the nodes of a run, in their order; empty on the reference engine, and if the feeds fail a guard."""
    if session.engine != "native":
        return []
    arrays: dict[str, RuntimeValue] = {name: np.asarray(value) for name, value in feeds.items()}
    operators = {node.name: node.op_type for node in session.model.graph.nodes if node.name}
    try:
        actions, _ = profile_program(
            NativeEngine(session.model, threads=1, precision=session.precision).natives[0], arrays
        )
    except EvaluationError:
        return []
    named = [(action, action_name(action.action)) for action in actions]
    return [
        NodeTime(name, operators.get(name, action_kind(action.action)), round(action.seconds * 1e9))
        for action, name in named
    ]
