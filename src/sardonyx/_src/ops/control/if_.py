"""If: the results of one of two subgraphs.

Spec: ai.onnx If-1, -11, -13, -16, -19, -21, -23, -24, -25.  In version 1 the results of both branches must have the same
shapes; since 11 only their element types must be equal.  Version 13 added sequences, 16 optionals, and the other versions
element types.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Graph, TensorType, Type
from sardonyx._src.ops.api import Operator, RunContext, RuntimeValue
from sardonyx._src.ops.control.bodies import run_body
from sardonyx._src.ops.control.joins import join, name_dims
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.support.shapes import merge_shapes

op = Operator("If", body_inputs=lambda inputs: 0, parameters=(0,))
BRANCHES = ("then_branch", "else_branch")
IF_VERSIONS = (1, 11, 13, 16, 19, 21, 23, 24, 25)


@op.infer(11, 13, 16, 19, 21, 23, 24, 25)
def infer(inference: Inference) -> Result:
    """The types of the branch that a known condition selects, otherwise the joins of the types of both branches."""
    results = branch_types(inference)
    if results is None or len(results) == 1:
        return None if results is None else results[0]
    pairs = enumerate(zip(*results, strict=True))
    return [name_dims(inference, join(inference, a, b, f"output {i}")) for i, (a, b) in pairs]


@op.infer(1)
def infer_1(inference: Inference) -> Result:
    """The types that `infer` returns, but both branches must have the same shapes."""
    results = branch_types(inference)
    if results is None or len(results) == 1:
        return None if results is None else results[0]
    return [same_shape(inference, a, b, f"output {i}") for i, (a, b) in enumerate(zip(*results, strict=True))]


@op.value(*IF_VERSIONS)
def value(inference: Inference) -> Known | None:
    """The elements of the branch that a known condition selects, otherwise those that are equal in both branches."""
    index, candidates = inference.requested_output(), []
    for name in branches(inference):
        elements = inference.subgraph_elements(name)
        candidates.append(None if elements is None or index >= len(elements) else elements[index])
    return candidates[0] if len(candidates) == 1 else common_elements(*candidates)


def common_elements(a: Known | None, b: Known | None) -> Known | None:
    """The elements that are equal in both; None if shapes differ or one of them is not known."""
    if a is None or b is None or a.shape != b.shape:
        return None
    if a.dtype == b.dtype and a.dtype != np.object_ and np.array_equal(a, b):
        return a
    pairs = zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True)
    same = np.empty(a.size, np.object_)
    same[:] = [x if x == y else None for x, y in pairs]
    return same.reshape(a.shape)


def branches(inference: Inference) -> list[str]:
    """The branches that may be taken, one or two."""
    condition = inference.constant(0)
    if condition is None or condition.size != 1:
        return list(BRANCHES)
    return [BRANCHES[0 if condition.item() else 1]]


def branch_types(inference: Inference) -> list[list[Type | None]] | None:
    """The output types of each branch that may be taken; None if they are not known."""
    condition = inference.tensor(0)
    if condition is not None and condition.dtype is not DataType.BOOL:
        inference.fail(f"cond must be tensor(bool); got tensor({condition.dtype.text})")
    names = branches(inference)
    for name in BRANCHES:
        if name not in names:
            inference.infer_unused_subgraph(name)
    types_by_branch = [inference.subgraph(name, (), is_certain=len(names) == 1) for name in names]
    results = [types for types in types_by_branch if types is not None]
    if len(results) < len(types_by_branch):
        return None
    for name, types in zip(names, results, strict=True):
        if len(types) < inference.outputs or len(types) != len(results[0]):
            inference.fail(
                f"{name} must have {max(inference.outputs, len(results[0]))} outputs; got {len(types)}"
            )
    return results


def same_shape(inference: Inference, a: Type | None, b: Type | None, what: str) -> Type | None:
    """The type of an output of both branches; fails if the shapes differ.  what: the output, for the message."""
    joined = join(inference, a, b, what)
    if isinstance(joined, TensorType):
        shapes = [x.shape for x in (a, b) if isinstance(x, TensorType)]
        return TensorType(
            joined.dtype, merge_shapes(inference, shapes, f"the shapes of {what} in the two branches")
        )
    return joined


@op.eval(*IF_VERSIONS)
def evaluate(
    cond: Array, *, then_branch: Graph, else_branch: Graph, context: RunContext
) -> tuple[RuntimeValue, ...]:
    """cond: one bool, of any rank."""
    if cond.size != 1:
        raise EvaluationError(f"cond must have one element; got shape {list(cond.shape)}")
    branch = then_branch if cond.item() else else_branch
    return tuple(run_body(context, branch, (), len(context.requested_outputs)))
