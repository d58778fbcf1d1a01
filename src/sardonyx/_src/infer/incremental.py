"""Incremental type inference of a model that is being edited; to "type" a value is to infer and set its type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.observer import ContextFactory, NodeObserver
from sardonyx._src.infer.plan import InferencePlan
from sardonyx._src.infer.scope import InferenceScope
from sardonyx._src.infer.state import InferenceState
from sardonyx._src.infer.walk import model_walk, run_walk
from sardonyx._src.io.garbage_collection import pause_gc
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir import Model, Node, Tensor, Type, Value
from sardonyx._src.ops.inference import DimPair, Known


class RejectionRecorder(NodeObserver):
    """An observer that records the nodes which their operators reject, with the reasons.

    A wrong declaration does not mean that the operator rejects its node.
    """

    def __init__(self) -> None:
        self.errors: dict[Node, InferenceError] = {}

    def on_node(
        self,
        contexts: ContextFactory,
        node: Node,
        plan: InferencePlan | None,
        types: Sequence[Type | None],
        error: InferenceError | None,
    ) -> Sequence[Type | None]:
        if error is not None:
            self.errors[node] = error
        else:
            self.errors.pop(node, None)
        return types


class IncrementalInference:
    """Types and known elements of a model's values; new nodes are typed one by one.

    If a declared and an inferred type contradict each other, the inferred one is used, and nothing is raised.  Sizes that
    inputs of subgraphs declare are ignored, since runs do not check them.
    """

    def __init__(
        self, model: Model, recorder: RejectionRecorder | None = None, *, folds_rounded: bool = True
    ) -> None:
        """Call `walk` next, which types the values.

        recorder: observes the nodes, and may change their types.  folds_rounded: as of `InferenceState`.
        """
        self.errors: list[InferenceError] = []
        self.rejections = recorder or RejectionRecorder()
        self.state = InferenceState(
            model,
            self.errors,
            observer=self.rejections,
            trusts_formals=False,
            folds_rounded=folds_rounded,
        )

    def walk(self) -> None:
        """Types all values, as `infer` does."""
        with pause_gc(), limit_nesting():
            run_walk(model_walk(self.state.model, self.state))
            self.state.finalize()

    def infer_node(self, node: Node, imports: Mapping[str, int]) -> None:
        """Types the outputs of a node and its subgraphs; its inputs must be typed.  imports: the operator-set imports."""
        run_walk(InferenceScope(self.state, imports).node(node, None))

    def is_rejected(self, node: Node) -> bool:
        """Whether the node's operator rejects its inputs or attributes, so that it cannot run."""
        return node in self.rejections.errors

    def equal_dims(self, node: Node) -> Sequence[DimPair]:
        """The pairs of input sizes that the node's operator requires to be equal."""
        return self.state.equal_dims.get(node, ())

    def elements(self, value: Value | None) -> Known | None:
        """Known elements of a small tensor: numbers, or an object array of int, Expr and None."""
        return self.state.elements.get(value)

    def put(self, value: Value, elements: Known | Tensor | None) -> None:
        """Stores elements, as of a new constant; None removes them."""
        self.state.elements.put(value, elements)

    def forget(self, value: Value) -> None:
        """Removes everything inferred or declared for a value, its type included."""
        value.type = None
        self.state.declared.pop(value, None)
        self.put(value, None)
