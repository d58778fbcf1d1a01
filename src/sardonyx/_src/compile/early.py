"""Nodes of the first operator sets, which take fewer shapes than the versions that they are converted to.

Later versions broadcast both ways.  A node that might be given what only they take stays in its own version: the
reference kernel refuses it when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sardonyx._src.infer.ongoing import Ongoing
from sardonyx._src.ir.dims import Dim, known_equal
from sardonyx._src.ir.graph import Attribute, Graph, Model, Node, Value
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.math.limited_broadcast import first_dim

Rule = Callable[[Node], bool]
LATE = 8  # the first operator set all of whose operators broadcast both ways
TWO = ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Less", "Greater")  # until 6
SEVERAL = ("Sum", "Mean", "Max", "Min")  # until 7


def all_fit(model: Model) -> bool:
    """Whether every node provably has shapes that its own version takes; types of the model's values are inferred."""
    held = [pair for graph, imports in homes(model) for pair in early(graph, imports.get("", LATE))]
    if held:
        Ongoing(model).walk()
    return all(rule(node) for node, rule in held)


def homes(model: Model) -> Iterator[tuple[Graph, Mapping[str, int]]]:
    """The graphs that no node holds, and the operator sets that they go by."""
    yield model.graph, model.opset_imports
    for function in model.functions.values():
        yield function.body, function.opset_imports


def early(graph: Graph, version: int) -> Iterator[tuple[Node, Rule]]:
    """The nodes whose operators take fewer shapes in this version, and what they are held to."""
    if version >= LATE:
        return
    for node in nodes(graph):
        found = None if node.domain else RULES.get(node.op_type)
        if found is not None and version <= found[0]:
            yield node, found[1]


def shape_of(value: Value | None) -> Shape | None:
    return value.type.shape if value is not None and isinstance(value.type, TensorType) else None


def integer(node: Node, name: str) -> int | None:
    found: Attribute | None = node.attributes.get(name)
    return found.value if found is not None and isinstance(found.value, int) else None


def is_one_element(shape: Shape) -> bool:
    return all(dim == 1 for dim in shape)


def alike(a: Shape | None, b: Shape | None) -> bool:
    if a is None or b is None or len(a) != len(b):
        return False
    return all(map(equal, a, b))


def equal(a: Dim, b: Dim) -> bool:
    return known_equal(a, b) is True


def two(node: Node) -> bool:
    """B has A's shape or none; with `broadcast`, one element or a run of A's dims."""
    a, b = map(shape_of, node.inputs)
    if b == () or alike(a, b):
        return True
    if a is None or b is None or not integer(node, "broadcast") or len(b) > len(a):
        return False
    start = first_dim(len(a), len(b), integer(node, "axis"))
    if start is None or is_one_element(b):
        return is_one_element(b)
    return all(size == 1 or equal(size, n) for size, n in zip(b, a[start:], strict=False))


def several(node: Node) -> bool:
    """All inputs have one shape."""
    shapes = list(map(shape_of, node.inputs))
    return len(shapes) == 1 or all(alike(shapes[0], shape) for shape in shapes[1:])


def leaky(node: Node) -> bool:
    """The slope has one element, one for each channel, or X's shape."""
    x, slope = map(shape_of, node.inputs)
    if slope is None or is_one_element(slope):
        return slope is not None
    return alike(slope, x) or (x is not None and len(x) > 1 and alike(slope, x[1:2]))


def product(node: Node) -> bool:
    """C has the result's shape, unless `broadcast` is set."""
    return bool(integer(node, "broadcast")) or alike(shape_of(node.inputs[2]), shape_of(node.outputs[0]))


RULES: Mapping[str, tuple[int, Rule]] = {
    **dict.fromkeys(TWO, (6, two)),
    **dict.fromkeys(SEVERAL, (7, several)),
    "PRelu": (6, leaky),
    "Gemm": (6, product),
}
