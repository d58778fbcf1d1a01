"""Which constants of a node hold the size in question, by what its operator makes of them.

A rule sees a node whose inputs have the prime where the new size will be, and what they were before.  It answers with
the entries that must change, or with what it cannot decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sardonyx._src.ir.graph import Node
from sardonyx._src.rewrite.tools.set_dims.answers import Answer, Doubt, Sizes, Spread
from sardonyx._src.rewrite.tools.set_dims.constants import entries, tensor_of
from sardonyx._src.rewrite.tools.set_dims.probe import Probe
from sardonyx._src.rewrite.tools.set_dims.reshaping import reshape


def expand(node: Node, probe: Probe) -> Iterator[Answer]:
    """An entry that is the size of the data: 1 leaves that as it is."""
    found, now, before = (
        entries(node.inputs[1], probe.model),
        probe.shape(node.inputs[0]),
        probe.old_shape(node.inputs[0]),
    )
    if found is None or now is None or before is None:
        return
    new = list(found)
    for back in range(1, min(len(found), len(now)) + 1):
        if probe.follows(now[-back]) and found[-back] == before[-back]:
            new[-back] = 1
    if tuple(new) != found:
        yield Sizes(node, 1, tuple(new))


def resize(node: Node, probe: Probe) -> Iterator[Answer]:
    """An entry of the sizes that leaves an axis as it is."""
    slot = 3
    found = entries(node.inputs[slot], probe.model) if len(node.inputs) > slot else None
    now, before = probe.shape(node.inputs[0]), probe.old_shape(node.inputs[0])
    if found is None or now is None or before is None or len(found) != len(now) or "axes" in node.attributes:
        return
    new = list(found)
    for axis, dim in enumerate(now):
        if probe.follows(dim) and isinstance(dim, int):
            if found[axis] == before[axis]:
                new[axis] = dim
            else:
                yield Doubt(
                    node, f"sizes {list(found)} scale axis {axis}, and keep the size that it was scaled to"
                )
    if tuple(new) != found:
        yield Sizes(node, slot, tuple(new))


def concat(node: Node, probe: Probe) -> Iterator[Answer]:
    """A constant beside data that have the size on another axis than the one that is put together."""
    along = node.attributes.get("axis")
    axis = along.value if along is not None and isinstance(along.value, int) else 1
    shapes = [probe.shape(value) for value in node.inputs]
    rank = next((len(shape) for shape in shapes if shape is not None), 0)
    for at in range(rank):
        if at != axis % rank and any(s is not None and at < len(s) and probe.follows(s[at]) for s in shapes):
            for slot, value in enumerate(node.inputs):
                tensor = tensor_of(value, probe.model)
                if tensor is not None and len(tensor.shape) == rank and tensor.shape[at] == probe.old:
                    yield Spread(node, slot, at)


def recurrent(node: Node, probe: Probe) -> Iterator[Answer]:
    """Constant first states: [directions, batch, hidden], or [batch, directions, hidden] with layout 1."""
    layout = node.attributes.get("layout")
    axis = 0 if layout is not None and layout.value == 1 else 1
    now = probe.shape(node.inputs[0])
    if now is None or len(now) != 3 or not probe.follows(now[axis]):
        return
    for slot in (5, 6):
        tensor = tensor_of(node.inputs[slot], probe.model) if slot < len(node.inputs) else None
        if tensor is not None and len(tensor.shape) == 3 and tensor.shape[axis] == probe.old:
            yield Spread(node, slot, axis)


def states(node: Node, probe: Probe) -> Iterator[Answer]:
    """Constant first states of a Loop or Scan whose next states have the size."""
    body = next(iter(node.subgraphs), None)
    if (
        body is None or probe.model.opset_imports.get("", 0) < 9
    ):  # Scan-8 has an axis more outside than inside
        return
    first, hidden = (
        (2, 1) if node.op_type == "Loop" else (0, 0)
    )  # the body's first output is Loop's condition
    scanned = node.attributes.get("num_scan_inputs")
    count = len(node.inputs) - (
        scanned.value if scanned is not None and isinstance(scanned.value, int) else 0
    )
    for slot in range(first, count):
        after = body.outputs[slot - first + hidden]
        tensor = tensor_of(node.inputs[slot], probe.model)
        now, before = probe.shape(after), probe.old_shape(after)
        if tensor is None or now is None or before is None or len(now) != len(tensor.shape):
            continue
        for axis, dim in enumerate(now):
            if probe.follows(dim) and tensor.shape[axis] == before[axis] == probe.old:
                yield Spread(node, slot, axis)
                break


def slice_(node: Node, probe: Probe) -> Iterator[Answer]:
    """From the start to the old size may mean all of an axis, or as many places as that."""
    now, before = probe.shape(node.inputs[0]), probe.old_shape(node.inputs[0])
    starts, ends, axes = (
        parameter(node, i, name, probe) for i, name in ((1, "starts"), (2, "ends"), (3, "axes"))
    )
    if now is None or before is None or starts is None or ends is None:
        return
    for i, axis in enumerate(range(len(ends)) if axes is None else axes):
        if axis < len(now) and probe.follows(now[axis]) and starts[i] == 0 and ends[i] == before[axis]:
            yield Doubt(node, f"the end {ends[i]} on axis {axis} may mean all of it")


def parameter(node: Node, slot: int, name: str, probe: Probe) -> tuple[int, ...] | None:
    """A list of integers that is an input in later versions and an attribute in earlier ones."""
    attribute = node.attributes.get(name)
    if attribute is not None and isinstance(attribute.value, tuple):
        return tuple(n for n in attribute.value if isinstance(n, int))
    return entries(node.inputs[slot], probe.model) if slot < len(node.inputs) else None


RULES: dict[str, Callable[[Node, Probe], Iterator[Answer]]] = {
    "Reshape": reshape,
    "Expand": expand,
    "Resize": resize,
    "Slice": slice_,
    "Concat": concat,
    "LSTM": recurrent,
    "GRU": recurrent,
    "RNN": recurrent,
    "Loop": states,
    "Scan": states,
}
