"""`expand`: replace nodes by the bodies of their operators, which define them by nodes of other operators."""

from __future__ import annotations

from collections.abc import Collection

from sardonyx._src.convert.converter import Converter, ImportScope
from sardonyx._src.convert.dead_constants import referenced_values
from sardonyx._src.convert.known_elements import resolve_elements
from sardonyx._src.infer.incremental import RejectionRecorder
from sardonyx._src.infer.state import InferenceState
from sardonyx._src.infer.walk import model_walk, run_walk
from sardonyx._src.ir import Model, Node
from sardonyx._src.ops.bind import schema_of
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import latest


def expand(model: Model, selected: Collection[Node]) -> None:
    """Replaces nodes of the model's main graph, subgraphs included, by the bodies of their operators.

    Every operator must have a body in the version that the model imports.  Names of values are kept.  Raises
    ConversionError for a node with a body that depends on unknown types or contradicts the node's inputs, and
    InferenceError for a node that is invalid in its own version.
    """
    model.opset_imports.setdefault("", latest(""))
    recorder = RejectionRecorder()
    state = InferenceState(model, [], observer=recorder)
    run_walk(model_walk(model, state))
    state.finalize()
    resolve_elements(state)
    scope = ImportScope([model.graph], model.opset_imports)
    for domain in sorted({node.domain for node in selected}):
        converter = Converter(state, scope, domain, latest(""), None, {}, referenced_values(model), {})
        for node in selected:
            if node.domain == domain:
                if rejection := recorder.errors.get(node):
                    raise rejection  # the body might accept what the operator's own version rejects
                op = find(domain, node.op_type)
                assert op is not None, f"{node!r} has no operator"
                schema = schema_of(node, model.opset_imports)
                converter.expand_body(converter.adapter_of(node, schema, scope.imports[domain]), op)
