"""Products of the slices of a sequence by an invariant matrix, in the body of a Scan or Loop, as one product before the loop.

    Scan: x [length, ...]                                  xw = MatMul(x, w), Scan: xw [length, ...]
      body(x[i]):  y = MatMul(x[i], w)              ->       body(xw[i]):  y = xw[i]
    Loop: body(i): y = MatMul(Gather(x, i), w)             xw = MatMul(x, w), Loop: body(i): y = Gather(xw, i)

The large product reads the matrix once, and not in each iteration, as kernels of recurrent layers do.
"""

from __future__ import annotations

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Graph, Node, Tensor, Value
from sardonyx._src.ir.dims import Dim, Expr, dim_product, known_equal
from sardonyx._src.ir.walk import captures
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.passes.unroll_scans import int_list, scan_inputs

MAX_ELEMENTS = 1 << 26  # of a hoisted product, if its size is known
GEMM_DEFAULTS = {"alpha": 1.0, "beta": 1.0, "transA": 0}


def decompose(node: Node, edit: Edit) -> bool:
    attribute = node.attributes.get("body")
    body = None if attribute is None else attribute.value
    if not isinstance(body, Graph) or edit.operator_of(node) is None or body.quantization_annotations:
        return False
    hoist = hoist_from_scan if node.op_type == "Scan" else hoist_from_loop
    return sum(hoist(node, body, inner, edit) for inner in list(body.nodes)) > 0


def hoist_from_scan(node: Node, body: Graph, inner: Node, edit: Edit) -> bool:
    """Replaces a product of a slice of a scan input by a slice of an additional scan input, the hoisted product."""
    product, scans = match_product(body, inner, edit), scan_inputs(node, edit)
    formals = body.inputs[len(body.inputs) - len(scans) :]
    if product is None or product.slice not in formals:
        return False
    number = formals.index(product.slice)
    sequence, axis = scans[number]
    shape = edit.shape(sequence)
    if sequence is None or shape is None or not -len(shape) <= axis < len(shape):
        return False
    axis %= len(shape)
    backward = int_list(node, "scan_input_directions", len(scans), edit)
    hoisted = None if axis == len(shape) - 1 else product.multiply(sequence, body, edit)
    if hoisted is None:
        return False
    result = inner.outputs[0]
    formal = Value(edit.names(body).fresh(result.name), None if product.summand else result.type)
    body.add_input(formal)
    product.replace(formal, edit)
    edit.update(
        node,
        inputs=[*node.inputs, hoisted],
        num_scan_inputs=len(scans) + 1,
        scan_input_axes=[*(axis for _, axis in scans), axis],
        scan_input_directions=[*backward, backward[number]],
    )
    return True


def hoist_from_loop(node: Node, body: Graph, inner: Node, edit: Edit) -> bool:
    """Replaces a product of x[i] by a slice of the hoisted product, in loops that iterate over all of x."""
    product = match_product(body, inner, edit)
    gather = None if product is None else product.slice.producer
    if product is None or gather is None or not has_operator(gather, "Gather", edit):
        return False
    sequence, index = gather.inputs
    shape = edit.shape(sequence)
    is_slice = index is body.inputs[0] and edit.rank(index) == 0 and not edit.attributes(gather).get("axis")
    if not is_slice or sequence is None or not shape or len(shape) < 2 or sequence not in captures(body):
        return False
    if known_equal(shape[0], trip_count(node, edit)) is not True:
        return False
    hoisted = product.multiply(sequence, body, edit)
    if hoisted is None:
        return False
    product.replace(edit.make("Gather", [hoisted, index], before=gather).outputs[0], edit)
    return True


def trip_count(node: Node, edit: Edit) -> Dim:
    """The maximum trip count of a Loop, a number or a dim; None if it is not known."""
    elements = edit.elements(node.inputs[0])
    if elements is None or elements.size != 1:
        return None
    count = elements.flat[0]
    return count if count is None or isinstance(count, Expr) else int(count)


# --- products --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SliceProduct:
    """A MatMul or Gemm in a body that computes slice @ matrix + summand, with an invariant matrix.

    has_bias: whether the summand is an invariant row, so that it can be hoisted as well.
    """

    node: Node
    slice: Value
    matrix: Value
    is_transposed: bool
    summand: Value | None
    has_bias: bool

    def multiply(self, sequence: Value, body: Graph, edit: Edit) -> Value | None:
        """Inserts the product of all slices before the loop; None if it would be too large."""
        node = body.parent
        assert node is not None, "a body is the attribute of a node"
        shape, columns = edit.shape(sequence), edit.shape(self.matrix)
        assert shape is not None and columns is not None, "shapes of the factors are known"
        size = dim_product(
            [1 if dim is None else dim for dim in (*shape[:-1], columns[not self.is_transposed])]
        )
        if isinstance(size, int) and size > MAX_ELEMENTS:
            return None
        matrix = outer_value(self.matrix, body, edit)
        if self.is_transposed:
            matrix = edit.make("Transpose", [matrix], {"perm": [1, 0]}, before=node).outputs[0]
        result = edit.make("MatMul", [sequence, matrix], before=node).outputs[0]
        if self.summand is None or not self.has_bias:
            return result
        return edit.make("Add", [result, outer_value(self.summand, body, edit)], before=node).outputs[0]

    def replace(self, product: Value, edit: Edit) -> None:
        """Replaces the result of the node by `product`, a slice of the hoisted product."""
        if self.summand is not None and not self.has_bias:
            product = edit.make("Add", [product, self.summand], before=self.node).outputs[0]
        edit.replace_uses(self.node.outputs[0], product)


def match_product(body: Graph, inner: Node, edit: Edit) -> SliceProduct | None:
    """The product of a node, if its right factor is an invariant matrix."""
    is_gemm = has_operator(inner, "Gemm", edit)
    if not is_gemm and not has_operator(inner, "MatMul", edit):
        return None
    operands, attributes = inner.inputs, edit.attributes(inner)
    if is_gemm and any(attributes.get(name, default) != default for name, default in GEMM_DEFAULTS.items()):
        return None
    left, right, summand = (*operands, None)[:3]
    invariant = {*captures(body), *body.initializers.values()}
    if left is None or right not in invariant or edit.rank(right) != 2:
        return None
    if not edit.is_internal(inner.outputs[0]):
        return None
    has_bias = summand in invariant and edit.rank(summand) == 1
    return SliceProduct(inner, left, right, bool(attributes.get("transB")), summand, has_bias)


def has_operator(node: Node, op_type: str, edit: Edit) -> bool:
    return node.op_type == op_type and not node.domain and edit.operator_of(node) is not None


def outer_value(value: Value, body: Graph, edit: Edit) -> Value:
    """A value as nodes outside of the body can read it: an initializer of the body becomes a constant before the loop."""
    if value.owner is not body:
        return value
    assert isinstance(value.initializer, Tensor) and body.parent is not None, (
        "initializers of a body are dense"
    )
    return edit.make_constant(value.initializer, value.name, before=body.parent)
