"""Low-rank updates: MatMul(x, W) [+ bias] + MatMul(t, B) * scale, with few columns of t, become one product.

Adapters of frozen weights (LoRA) are written so, with t = MatMul(x, A), and their gradients, which add the gradients
of both paths.  The region starts at whichever MatMul comes first, and is executed where the Add was, since all
operands are computed by then.  Products of rank 2 are not matched: optimization has made the MatMul and the Add a
Gemm.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.expressions import Apply, Local
from sardonyx._src.compile.kernels.epilogue import RESULT
from sardonyx._src.compile.partition import BoundNode, FusedEpilogue, Read, Region, Scope, Write, fuses
from sardonyx._src.compile.partition.fusion.epilogues import fuse_epilogue
from sardonyx._src.compile.program import ANY, DENSE
from sardonyx._src.compile.program.operands.layout import UnitStride
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Node, Value

MAX_RANK = 64
MIN_RATIO = 8  # the product has at least as many terms for each term of the update
MAX_CHAIN = 3  # nodes after a MatMul, the Add included


@dataclass(frozen=True, slots=True)
class LowRankProduct:
    """The parameters of a region that reads x, t, B, and W unless that is constant.

    matrix: the elements of a constant W.
    value: W, by which its packed panels are shared.
    """

    scale: float
    matrix: Array | None
    value: Value


@dataclass(frozen=True, slots=True)
class ProductTerm:
    """MatMul(left, right) * scale + bias, with the nodes that compute it.

    inner: the number of terms of each sum of the MatMul.
    """

    left: Value
    right: Value
    nodes: tuple[Node, ...]
    scale: float
    bias: Value | None
    inner: int


@fuses("MatMul", 13)
def match_low_rank_update(op: BoundNode, scope: Scope) -> Region[LowRankProduct] | None:
    addition = find_addition(op.node, scope)
    if addition is None or scope.rounds_factors:
        return None
    terms = [term_of(scope, value) for value in addition.inputs if value is not None]
    if len(terms) != 2 or terms[0] is None or terms[1] is None:
        return None
    update, product = sorted((terms[0], terms[1]), key=lambda term: term.inner)
    if update.bias is not None or product.scale != 1 or not is_low_rank(update, product):
        return None
    nodes = sorted({*update.nodes, *product.nodes}, key=scope.order.__getitem__)
    if nodes[0] is not op.node:
        return None
    matrix = scope.constant_source(product.right)
    epilogue = fuse_after_bias(scope, addition.outputs[0], product.bias)
    reads = (Read(product.left, ANY), Read(update.left, UnitStride(-1, DENSE)), Read(update.right, ANY))
    return Region(
        "LowRankUpdate",
        (*nodes, addition, *epilogue.nodes),
        LowRankProduct(update.scale, matrix, product.right),
        reads if matrix is not None else (*reads, Read(product.right, ANY)),
        (Write(epilogue.result),),
        epilogue=epilogue,
        last=addition,
    )


def fuse_after_bias(scope: Scope, value: Value, bias: Value | None) -> FusedEpilogue:
    """The epilogue of a product: the bias, if there is one, then the fused consumers."""
    if bias is None:
        return fuse_epilogue(scope, value)
    *lead, columns = scope.known_shape(value)
    row = (bias, (*(1 for _ in lead), columns))
    return fuse_epilogue(scope, value, start=Apply("add", (RESULT, Local("o0"))), operands=(row,))


def is_low_rank(update: ProductTerm, product: ProductTerm) -> bool:
    return update.inner <= MAX_RANK and update.inner * MIN_RATIO <= product.inner


def find_addition(node: Node, scope: Scope) -> Node | None:
    """The Add of two tensors of one shape that a MatMul's result reaches through elementwise nodes."""
    shape = scope.shape(node.outputs[0])
    if shape is None or len(shape) not in (3, 4):
        return None
    for _ in range(MAX_CHAIN):
        consumer = scope.sole_consumer(node.outputs[0])
        if consumer is None or consumer.op_type not in ("Add", "Mul") or consumer.domain:
            return None
        operands = [scope.shape(value) for value in consumer.inputs if value is not None]
        if consumer.op_type == "Add" and operands == [shape, shape]:
            return consumer
        if scope.shape(consumer.outputs[0]) != shape:
            return None
        node = consumer
    return None


def term_of(scope: Scope, value: Value) -> ProductTerm | None:
    """A value as a term of the sum; None if it is read elsewhere, or one of its nodes belongs to a region already."""
    nodes: list[Node] = []
    scale, bias, shape = 1.0, None, scope.known_shape(value)
    while (node := unclaimed_producer(scope, value)) is not None:
        nodes.append(node)
        if node.op_type == "MatMul":
            return product_term(scope, node, tuple(nodes), scale, bias)
        operands = [operand for operand in node.inputs if operand is not None]
        rest = [operand for operand in operands if scope.shape(operand) != shape]
        if len(operands) != 2 or len(rest) != 1:
            return None
        if node.op_type == "Mul" and bias is None and (factor := scalar_of(scope, rest[0])) is not None:
            scale *= factor
        elif node.op_type == "Add" and bias is None and scale == 1 and is_row(scope, rest[0], value):
            bias = rest[0]
        else:
            return None
        value = next(operand for operand in operands if operand is not rest[0])
    return None


def unclaimed_producer(scope: Scope, value: Value) -> Node | None:
    """The MatMul, Mul or Add that computes a value for one reader; None if a region has claimed it."""
    node = value.producer
    if node is None or node in scope.claimed or scope.sole_consumer(value) is None:
        return None
    bound = scope.bind_node(node)
    return (
        node if bound is not None and not node.domain and node.op_type in ("MatMul", "Mul", "Add") else None
    )


def product_term(
    scope: Scope, node: Node, nodes: tuple[Node, ...], scale: float, bias: Value | None
) -> ProductTerm | None:
    """The term of a MatMul of float32 rows by one matrix [inner, columns] with a static `inner`; None for other products."""
    left, right = node.inputs[0], node.inputs[1]
    if left is None or right is None:
        return None
    rows, matrix, result = scope.shape(left), scope.shape(right), scope.shape(node.outputs[0])
    if rows is None or matrix is None or len(matrix) != 2 or result != (*rows[:-1], matrix[1]):
        return None
    inner = matrix[0]
    is_float = all(scope.dtype_of(v) is DataType.FLOAT for v in (left, right, *node.outputs))
    if not is_float or not isinstance(inner, int) or rows[-1] != inner or scope.is_constant(left):
        return None
    return ProductTerm(left, right, nodes, scale, bias, inner)


def scalar_of(scope: Scope, value: Value) -> float | None:
    """The element of a constant that has only one; None for other values."""
    elements = scope.constant(value)
    return float(elements.reshape(())) if elements is not None and elements.size == 1 else None


def is_row(scope: Scope, value: Value, result: Value) -> bool:
    """Whether a float32 vector that a kernel can read has an element for each column of a result."""
    is_vector = scope.shape(value) == scope.known_shape(result)[-1:]
    return is_vector and scope.dtype_of(value) is DataType.FLOAT and scope.is_native(value)
