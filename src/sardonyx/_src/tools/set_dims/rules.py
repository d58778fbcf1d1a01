"""Repair rules: which constants of a node hold the old size, by the trait `size_rule` of its operator.

A rule receives a node whose input shapes contain the prime instead of the new size (`probe.py`), and their shapes before the
change.  It yields repairs, and questions that it cannot decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from sardonyx._src.ir import Node
from sardonyx._src.ops.registry import find
from sardonyx._src.ops.traits import SizeRule
from sardonyx._src.tools.set_dims.constants import constant_sizes, tensor_of
from sardonyx._src.tools.set_dims.probe import Probe
from sardonyx._src.tools.set_dims.repairs import ExpandRepair, InputRepair, RuleResult, Unresolved
from sardonyx._src.tools.set_dims.reshape_rule import reshape


def expand(node: Node, probe: Probe) -> Iterator[RuleResult]:
    """Replace an entry equal to the data's old size by 1, which keeps the data's size."""
    sizes, now, before = (
        constant_sizes(node.inputs[1], probe.model),
        probe.shape(node.inputs[0]),
        probe.old_shape(node.inputs[0]),
    )
    if sizes is None or now is None or before is None:
        return
    new = list(sizes)
    for back in range(1, min(len(sizes), len(now)) + 1):
        if probe.is_multiple(now[-back]) and sizes[-back] == before[-back]:
            new[-back] = 1
    if tuple(new) != sizes:
        yield InputRepair(node, 1, tuple(new))


def resize(node: Node, probe: Probe) -> Iterator[RuleResult]:
    """Replace an entry of the sizes that keeps the length of an axis."""
    slot = 3
    sizes = constant_sizes(node.inputs[slot], probe.model) if len(node.inputs) > slot else None
    now, before = probe.shape(node.inputs[0]), probe.old_shape(node.inputs[0])
    if sizes is None or now is None or before is None or len(sizes) != len(now) or "axes" in node.attributes:
        return
    new = list(sizes)
    for axis, dim in enumerate(now):
        if probe.is_multiple(dim) and isinstance(dim, int):
            if sizes[axis] == before[axis]:
                new[axis] = dim
            else:
                yield Unresolved(node, f"sizes {list(sizes)} scale axis {axis}, and keep its scaled length")
    if tuple(new) != sizes:
        yield InputRepair(node, slot, tuple(new))


def concat(node: Node, probe: Probe) -> Iterator[RuleResult]:
    """Expand a constant operand along a changed axis other than the concatenated one."""
    attribute = node.attributes.get("axis")
    axis = attribute.value if attribute is not None and isinstance(attribute.value, int) else 1
    shapes = [probe.shape(value) for value in node.inputs]
    rank = next((len(shape) for shape in shapes if shape is not None), 0)
    for other in range(rank):
        if other != axis % rank and any(
            s is not None and other < len(s) and probe.is_multiple(s[other]) for s in shapes
        ):
            for slot, value in enumerate(node.inputs):
                tensor = tensor_of(value, probe.model)
                if tensor is not None and len(tensor.shape) == rank and tensor.shape[other] == probe.old:
                    yield ExpandRepair(node, slot, other)


def recurrent(node: Node, probe: Probe) -> Iterator[RuleResult]:
    """Expand constant initial states: [directions, batch, hidden], or [batch, directions, hidden] with layout 1."""
    layout = node.attributes.get("layout")
    axis = 0 if layout is not None and layout.value == 1 else 1
    now = probe.shape(node.inputs[0])
    if now is None or len(now) != 3 or not probe.is_multiple(now[axis]):
        return
    for slot in (5, 6):
        tensor = tensor_of(node.inputs[slot], probe.model) if slot < len(node.inputs) else None
        if tensor is not None and len(tensor.shape) == 3 and tensor.shape[axis] == probe.old:
            yield ExpandRepair(node, slot, axis)


def states(node: Node, probe: Probe, *, first_input: int, first_output: int) -> Iterator[RuleResult]:
    """Expand constant initial states of a loop whose next states have the new size.

    first_input: the position of the first state among the inputs of the node; first_output: the position of its next value
    among the outputs of the body.
    """
    body = next(iter(node.subgraphs), None)
    if (
        body is None or probe.model.opset_imports.get("", 0) < 9
    ):  # Scan-8 has an additional batch axis outside of its body
        return
    scanned = node.attributes.get("num_scan_inputs")
    count = len(node.inputs) - (
        scanned.value if scanned is not None and isinstance(scanned.value, int) else 0
    )
    for slot in range(first_input, count):
        after = body.outputs[slot - first_input + first_output]
        tensor = tensor_of(node.inputs[slot], probe.model)
        now, before = probe.shape(after), probe.old_shape(after)
        if tensor is None or now is None or before is None or len(now) != len(tensor.shape):
            continue
        for axis, dim in enumerate(now):
            if probe.is_multiple(dim) and tensor.shape[axis] == before[axis] == probe.old:
                yield ExpandRepair(node, slot, axis)
                break


def slice_(node: Node, probe: Probe) -> Iterator[RuleResult]:
    """Ask about an end that equals the old size: it may mean the end of the axis, or a fixed length."""
    now, before = probe.shape(node.inputs[0]), probe.old_shape(node.inputs[0])
    starts, ends, axes = (
        parameter(node, i, name, probe) for i, name in ((1, "starts"), (2, "ends"), (3, "axes"))
    )
    if now is None or before is None or starts is None or ends is None:
        return
    for i, axis in enumerate(range(len(ends)) if axes is None else axes):
        if axis < len(now) and probe.is_multiple(now[axis]) and starts[i] == 0 and ends[i] == before[axis]:
            yield Unresolved(node, f"the end {ends[i]} on axis {axis} may mean the whole axis")


def parameter(node: Node, slot: int, name: str, probe: Probe) -> tuple[int, ...] | None:
    """A list of integers: an input in later versions, an attribute in earlier ones."""
    attribute = node.attributes.get(name)
    if attribute is not None and isinstance(attribute.value, tuple):
        return tuple(n for n in attribute.value if isinstance(n, int))
    return constant_sizes(node.inputs[slot], probe.model) if slot < len(node.inputs) else None


REPAIR_RULES: Mapping[SizeRule, Callable[[Node, Probe], Iterator[RuleResult]]] = {
    "target_shape": reshape,
    "broadcast_shape": expand,
    "lengths": resize,
    "slice_ends": slice_,
    "operands": concat,
    "initial_states": recurrent,
    "loop_states": partial(
        states, first_input=2, first_output=1
    ),  # trip count and condition precede the states
    "scan_states": partial(states, first_input=0, first_output=0),
}


def rule_of(node: Node) -> Callable[[Node, Probe], Iterator[RuleResult]] | None:
    """The repair rule of a node's operator; None if no constant of it holds sizes."""
    op = find(node.domain, node.op_type)
    return REPAIR_RULES[op.size_rule] if op is not None and op.size_rule is not None else None
