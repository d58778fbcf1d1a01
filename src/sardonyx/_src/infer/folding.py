"""Partial evaluation: elements of a node's outputs from known elements of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InferenceError, SardonyxError
from sardonyx._src.infer.context import NodeInferenceContext
from sardonyx._src.infer.elements import as_numbers, is_small
from sardonyx._src.infer.memo_cache import OutputTypes
from sardonyx._src.infer.plan import InferencePlan
from sardonyx._src.ir import Graph, Node, TensorType, Type
from sardonyx._src.ops.api import OPERAND_ERRORS, GraphCall, ReferenceKernel, RunLimits, RuntimeValue
from sardonyx._src.ops.inference import Known
from sardonyx._src.ops.tensor.elements import MAX_KNOWN_ELEMENTS


@dataclass(slots=True)
class FoldingRunContext:
    """The argument `context` of a kernel that runs during inference, on constants only.

    limits: small ones, since inference should not compute large results.
    """

    version: int
    requested_outputs: tuple[bool, ...]
    limits: RunLimits = field(default_factory=lambda: RunLimits(bytes=1 << 24, iterations=1 << 16))

    def bind(self, graph: Graph) -> GraphCall:
        raise AssertionError("nodes with subgraphs are not folded")

    def output_types(self, graph: Graph, arguments: Sequence[Type | None]) -> list[Type | None]:
        raise AssertionError("nodes with subgraphs are not folded")

    def check(self) -> None:
        """Does nothing: inference is not a run."""

    @property
    def available_bytes(self) -> int:
        return self.limits.bytes

    def random_state(self, seed: int | float | None) -> np.random.RandomState:
        raise AssertionError("random operators are not folded")


def infer_elements(
    plan: InferencePlan,
    context: NodeInferenceContext,
    result: OutputTypes,
    node: Node,
    *,
    folds_rounded: bool = True,
) -> Sequence[Known | None]:
    """The known elements of the node's outputs.

    If all inputs are numbers, they are the results of the kernel, else those of the operator's value facet.
    folds_rounded: as of `InferenceState`.
    """
    if not plan.accepts(context.inputs, context.given):
        return ()
    if not folds_rounded and not has_fixed_bits(plan, context, result.types):
        return ()
    if plan.kernel is not None and can_fold(context, result.types):
        return fold(plan.kernel, context, node)
    elements = [call_value_facet(plan, context, result)]
    for i in range(1, len(node.outputs) if context.reads_output_index else 1):
        context.output_index = i
        elements.append(call_value_facet(plan, context, result))
    return elements


def has_fixed_bits(plan: InferencePlan, context: NodeInferenceContext, types: Sequence[Type | None]) -> bool:
    """Whether the kernel computes the same bits on every processor."""
    tensors = [type_ for type_ in (*context.inputs, *types) if isinstance(type_, TensorType)]
    return plan.op.has_fixed_bits(type_.dtype for type_ in tensors)


def call_value_facet(plan: InferencePlan, context: NodeInferenceContext, result: OutputTypes) -> Known | None:
    """The elements of one output as the value facet computes them."""
    try:
        known = plan.value(context) if plan.value is not None else None
    except (InferenceError, *OPERAND_ERRORS):
        return None  # the infer facet has reported the error
    if known is None or known.size > MAX_KNOWN_ELEMENTS:
        return None
    i = context.output_index
    return as_numbers(known, result.types[i] if i < len(result.types) else None)


def can_fold(context: NodeInferenceContext, types: Sequence[Type | None]) -> bool:
    """Whether the kernel can be run: all inputs are numbers, and all results small."""
    for i, value in enumerate(context.values):
        if value is not None and context.constant(i) is None:
            return False
    return bool(types) and all(is_small(type_) for type_ in types)


def fold(kernel: ReferenceKernel, context: NodeInferenceContext, node: Node) -> Sequence[Known | None]:
    """The kernel's results; () if it rejects its inputs, which a run reports if it executes the node."""
    attributes: Mapping[str, object] = {k: v for k, v in context.attributes.items() if k in kernel.keywords}
    if kernel.wants_context:
        run_context = FoldingRunContext(context.version, tuple(bool(v.name) for v in node.outputs))
        attributes = {**attributes, "context": run_context}
    inputs = [context.constant(i) for i in range(len(context.values))]
    with np.errstate(all="ignore"):
        try:
            result = kernel.function(*inputs, **attributes)
        except (SardonyxError, MemoryError, *OPERAND_ERRORS):
            return ()
    results = result if isinstance(result, tuple) else (result,)
    return [known_elements(r) for r in results]


def known_elements(result: RuntimeValue) -> Known | None:
    """A kernel's result as known elements, if it is a small tensor of numbers."""
    if not isinstance(result, np.ndarray | np.generic):
        return None
    if result.size > MAX_KNOWN_ELEMENTS or result.dtype == np.object_:
        return None
    return np.asarray(result)
