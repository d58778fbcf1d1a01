"""Products with keys, scaled and masked, through Softmax and times values: attention without a matrix of scores.

The nodes stand between others that make values and masks, so the first product only notes what follows; the step is put
down in the place of the last one, when all of them are there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sardonyx._src.compile.attention.step import attention
from sardonyx._src.compile.fusion import lone_number
from sardonyx._src.compile.lower.attention import masked, result
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Node, Value

Shape = tuple[Known, ...]


@dataclass(slots=True)
class Scores:
    """Products of queries [..., S, D] and keys [..., D, T] on their way to a Softmax: times `scale`, plus `mask`."""

    queries: Value
    keys: Value
    nodes: list[Node]
    scale: float = 1.0
    mask: Value | None = None
    values: Value | None = None

    @property
    def last(self) -> Value:
        return self.nodes[-1].outputs[0]


def begins(call: Call, at: Lowering) -> bool:
    """Takes the first product of attention and what stands between it and the last one."""
    queries, keys = call.input(0), call.input(1)
    if queries is None or keys is None or not are_alike(at, queries, keys, call.output):
        return False
    scores = Scores(queries, keys, [call.node])
    if not follows(at, scores):
        return False
    *inside, last = scores.nodes
    at.done.update(inside)
    noted(at)[last] = scores
    return True


def noted(at: Lowering) -> dict[Node, Scores]:
    """The attention that will be put down in the place of a node."""
    found: dict[Node, Scores] = at.kept("attention between products", dict)
    return found


def are_alike(at: Lowering, queries: Value, keys: Value, scores: Value) -> bool:
    """Whether both have the same batch and heads: of rank 4, or of rank 3 with no heads."""
    if not all(at.dtype_of(one) is DataType.FLOAT for one in (queries, keys, scores)):
        return False
    shapes = [at.shape(one) for one in (queries, keys, scores)]
    if not (at.is_native(queries) and at.is_native(keys)) or at.is_constant(keys):
        return False
    q, k, s = (() if shape is None else shape for shape in shapes)
    if not len(q) == len(k) == len(s) or len(q) not in (3, 4):
        return False
    return q[:-2] == k[:-2] == s[:-2] and q[-2] == s[-2] and k[-1] == s[-1] and at.agree(q[-1], k[-2])


def follows(at: Lowering, scores: Scores) -> bool:
    """Reads on up to the last product; whether it is one."""
    for step in (scaled, scaled, added):
        step(at, scores)
    softmax, shape = at.only_reader(scores.last), at.known_shape(scores.last)
    found = None if softmax is None else at.call(softmax)
    if softmax is None or found is None or (found.op_type, found.version) != ("Softmax", 13):
        return False
    if softmax.domain or found.attribute("axis", int) not in (-1, len(shape) - 1):
        return False
    scores.nodes.append(softmax)
    product = at.only_reader(scores.last)
    found = None if product is None else at.call(product)
    if product is None or found is None or (found.op_type, found.version) != ("MatMul", 13) or product.domain:
        return False
    scores.values = product.inputs[1]
    if product.inputs[0] is not scores.last or scores.values is scores.last:
        return False
    scores.nodes.append(product)
    return weighs(at, shape, scores.values, product.outputs[0])


def weighs(at: Lowering, scores: Shape, values: Value | None, output: Value) -> bool:
    """Whether values [..., T, E] are as many as there are scores, with the same batch and heads."""
    shape, made = at.shape(values), at.shape(output)
    if shape is None or made is None or at.dtype_of(values) is not DataType.FLOAT:
        return False
    if len(shape) != len(scores) or shape[:-2] != scores[:-2] or made != (*scores[:-1], shape[-1]):
        return False
    return at.agree(shape[-2], scores[-1])


def scaled(at: Lowering, scores: Scores) -> None:
    """Takes in a product with, or a quotient by, a number above 0."""
    node = at.only_reader(scores.last)
    if node is None or node.op_type not in ("Mul", "Div") or node.domain or not keeps_shape(at, node, scores):
        return
    at_first = node.inputs[0] is scores.last
    other = node.inputs[1 if at_first else 0]
    number = lone_number(at.constant(other))
    if number is None or not np.isfinite(number) or number <= 0 or (node.op_type == "Div" and not at_first):
        return
    scale = scores.scale * (number if node.op_type == "Mul" else 1 / number)
    if not np.finfo(np.float32).tiny <= scale <= np.finfo(np.float32).max:
        return
    scores.scale = scale
    scores.nodes.append(node)


def added(at: Lowering, scores: Scores) -> None:
    """Takes in what is added to scores, if it has a number for every key."""
    node = at.only_reader(scores.last)
    if node is None or node.op_type != "Add" or node.domain or not keeps_shape(at, node, scores):
        return
    mask = node.inputs[1] if node.inputs[0] is scores.last else node.inputs[0]
    shape, whole = at.shape(mask), at.known_shape(scores.last)
    if mask is None or mask is scores.last or not shape or at.dtype_of(mask) is not DataType.FLOAT:
        return
    if len(shape) > len(whole) or shape[-1] == 1:
        return
    inner = whole[len(whole) - len(shape) :]
    if not at.agree(shape[-1], whole[-1]) or not all(map(at.stretches, shape[:-1], inner[:-1])):
        return
    scores.mask = mask
    scores.nodes.append(node)


def keeps_shape(at: Lowering, node: Node, scores: Scores) -> bool:
    return at.call(node) is not None and at.shape(node.outputs[0]) == at.shape(scores.last)


# --- the step ----------------------------------------------------------------------------------


def ends(call: Call, at: Lowering) -> bool:
    """Puts the step down, where this is the last product of what was noted."""
    scores = noted(at).pop(call.node, None)
    if scores is None:
        return False
    assert scores.values is not None, "attention has values"
    at.names = tuple(node.name or node.outputs[0].name for node in scores.nodes)
    q = in_heads(by_rows(at, scores.queries, -1) or at.dense(scores.queries))
    k = in_heads(by_rows(at, scores.keys, -2) or at.strided(scores.keys)).permuted((0, 1, 3, 2))
    v = in_heads(by_rows(at, scores.values, -1) or at.strided(scores.values))
    mask = None
    if scores.mask is not None:
        found = masked(at, scores.mask, (*q.shape[:3], k.shape[2]))
        assert found is not None, "a mask of all keys fits"
        mask = found.tensor
    has_heads = len(at.known_shape(call.output)) == 4
    y = result(call, at, q, v) if has_heads else in_heads(at.result(call.output))
    at.emit(*attention(q, k, v, y, scale=scores.scale, mask=mask))
    return True


def by_rows(at: Lowering, value: Value, dim: int) -> Tensor | None:
    """The value in a form whose elements along a dim are 1 apart, if there is one."""
    at.strided(value)
    return next((form for form in at.forms[value] if form.strides[dim] == 1), None)


def in_heads(tensor: Tensor) -> Tensor:
    """A tensor with batch and heads, of which there is one batch where there is no such dim."""
    if tensor.rank == 4:
        return tensor
    return replace(tensor, shape=(1, *tensor.shape), strides=(0, *tensor.strides))
