"""Elements of a node's outputs from those of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sardonyx._src.errors import InferenceError, SardonyxError
from sardonyx._src.infer.answers import Answer
from sardonyx._src.infer.elements import MOST, is_small, numbers
from sardonyx._src.infer.plan import Plan
from sardonyx._src.infer.question import Question
from sardonyx._src.ir.graph import Graph, Node
from sardonyx._src.ir.types import Type
from sardonyx._src.ops.api import Kernel, RunLimits, RuntimeValue
from sardonyx._src.ops.inference import Known

# What is raised about inputs that do not fit, by NumPy mostly.
REFUSALS = (ValueError, IndexError, TypeError, KeyError, ArithmeticError)


@dataclass(slots=True)
class FoldingCall:
    """The `call` of a kernel that runs on constants alone."""

    version: int
    wanted: tuple[bool, ...]
    limits: RunLimits = field(default_factory=lambda: RunLimits(bytes=1 << 24, iterations=1 << 16))

    def run(self, graph: Graph, inputs: Sequence[RuntimeValue]) -> list[RuntimeValue]:
        raise AssertionError("nodes with subgraphs are not folded")

    def generator(self, seed: float | None) -> np.random.Generator:
        raise AssertionError("random operators are not folded")


def known_outputs(plan: Plan, question: Question, answer: Answer, node: Node) -> Sequence[Known | None]:
    """What is known of the elements of the node's outputs.

    Where all inputs are numbers the kernel is run, elsewhere the value facet tells what it can.
    """
    if not plan.takes(question.inputs, question.given):
        return ()
    if plan.kernel is not None and can_fold(question, answer.types):
        return folded(plan.kernel, question, node)
    found = [value_of(plan, question, answer)]
    for i in range(1, len(node.outputs) if question.looked else 1):
        question.at = i
        found.append(value_of(plan, question, answer))
    return found


def value_of(plan: Plan, question: Question, answer: Answer) -> Known | None:
    """What the value facet tells of one output."""
    try:
        found = plan.value(question) if plan.value is not None else None
    except (InferenceError, *REFUSALS):
        return None  # the infer facet has said what there is to say
    if found is None or found.size > MOST:
        return None
    return numbers(found, answer.types[question.at] if question.at < len(answer.types) else None)


def can_fold(question: Question, types: Sequence[Type | None]) -> bool:
    """Whether the kernel can simply be run: all inputs numbers, all results small."""
    for i, value in enumerate(question.values):
        if value is not None and question.constant(i) is None:
            return False
    return bool(types) and all(is_small(type) for type in types)


def folded(kernel: Kernel, question: Question, node: Node) -> Sequence[Known | None]:
    """The kernel's results; none when it refuses its inputs, which the run will say, if it ever comes there."""
    attributes: Mapping[str, object] = {k: v for k, v in question.attributes.items() if k in kernel.keywords}
    if kernel.wants_call:
        call = FoldingCall(question.version, tuple(bool(v.name) for v in node.outputs))
        attributes = {**attributes, "call": call}
    inputs = [question.constant(i) for i in range(len(question.values))]
    with np.errstate(all="ignore"):
        try:
            result = kernel.function(*inputs, **attributes)
        except (SardonyxError, MemoryError, *REFUSALS):
            return ()
    results = result if isinstance(result, tuple) else (result,)
    return [known(r) for r in results]


def known(result: RuntimeValue) -> Known | None:
    """A kernel's result as known elements, if it is a small tensor of numbers."""
    if not isinstance(result, np.ndarray | np.generic) or result.size > MOST or result.dtype == np.object_:
        return None
    return np.asarray(result)
