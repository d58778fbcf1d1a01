"""If: the results of one of two subgraphs.

Spec: ai.onnx If-1, -11, -13, -16, -19, -21, -23, -24, -25.  In version 1 both branches give the same shapes; from 11
on the same element types are enough.  Sequences came with 13, optionals with 16, the others added element types.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.graph import Graph
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType, Type
from sardonyx._src.ops.api import Call, Operator, RuntimeValue
from sardonyx._src.ops.control.bodies import run_body
from sardonyx._src.ops.control.joins import join, named_dims
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.shapes import merge_shapes

op = Operator("If")
BRANCHES = ("then_branch", "else_branch")
VERSIONS = (1, 11, 13, 16, 19, 21, 23, 24, 25)


@op.infer(11, 13, 16, 19, 21, 23, 24, 25)
def infer(t: Inference) -> Result:
    """The types of the branch that a known condition takes, or what those of both have in common."""
    found = branch_types(t)
    if found is None or len(found) == 1:
        return None if found is None else found[0]
    pairs = enumerate(zip(*found, strict=True))
    return [named_dims(t, join(t, a, b, f"output {i}")) for i, (a, b) in pairs]


@op.infer(1)
def infer_1(t: Inference) -> Result:
    """The same, but what one branch knows of a shape holds for the other one too."""
    found = branch_types(t)
    if found is None or len(found) == 1:
        return None if found is None else found[0]
    return [same_shape(t, a, b, f"output {i}") for i, (a, b) in enumerate(zip(*found, strict=True))]


@op.value(*VERSIONS)
def value(t: Inference) -> Known | None:
    """The elements that the branch gives which a known condition takes, or those in which both agree."""
    at, columns = t.output(), []
    for name in branches(t):
        found = t.subgraph_elements(name)
        columns.append(None if found is None or at >= len(found) else found[at])
    return columns[0] if len(columns) == 1 else agreed(*columns)


def agreed(a: Known | None, b: Known | None) -> Known | None:
    """The elements that are the same in both; None where shapes differ, or nothing is known of one of them."""
    if a is None or b is None or a.shape != b.shape:
        return None
    if a.dtype == b.dtype and a.dtype != np.object_ and np.array_equal(a, b):
        return a
    pairs = zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True)
    same = np.empty(a.size, np.object_)
    same[:] = [x if x == y else None for x, y in pairs]
    return same.reshape(a.shape)


def branches(t: Inference) -> list[str]:
    """The branches that may be taken, one or two."""
    condition = t.constant(0)
    if condition is None or condition.size != 1:
        return list(BRANCHES)
    return [BRANCHES[0 if condition.item() else 1]]


def branch_types(t: Inference) -> list[list[Type | None]] | None:
    """The output types of the branches that may be taken, one or two lists; None where they cannot be told."""
    taken = branches(t)
    for name in BRANCHES:
        if name not in taken:
            t.unused(name)
    found = [t.subgraph(name, ()) for name in taken]
    results = [types for types in found if types is not None]
    if len(results) < len(found):
        return None
    for name, types in zip(taken, results, strict=True):
        if len(types) < t.outputs or len(types) != len(results[0]):
            t.fail(f"{name} has {len(types)} outputs, {max(t.outputs, len(results[0]))} are wanted")
    return results


def same_shape(t: Inference, a: Type | None, b: Type | None, what: str) -> Type | None:
    joined = join(t, a, b, what)
    if isinstance(joined, TensorType):
        shapes = [x.shape for x in (a, b) if isinstance(x, TensorType)]
        return TensorType(joined.dtype, merge_shapes(t, shapes, f"the shapes of {what} in the two branches"))
    return joined


@op.eval(*VERSIONS)
def evaluate(cond: Array, *, then_branch: Graph, else_branch: Graph, call: Call) -> tuple[RuntimeValue, ...]:
    """cond: one bool, of any rank."""
    if cond.size != 1:
        raise EvaluationError(f"the condition is of shape {list(cond.shape)}; one element is wanted")
    branch = then_branch if cond.item() else else_branch
    return tuple(run_body(call, branch, (), len(call.wanted)))
