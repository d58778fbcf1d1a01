"""The entry of a Reshape's shape in which a size of the data is found again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import mul
from typing import TypeAlias

from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Node
from sardonyx._src.ir.types import Shape
from sardonyx._src.rewrite.tools.set_dims.answers import Answer, Attribute, Doubt, Sizes
from sardonyx._src.rewrite.tools.set_dims.constants import entries
from sardonyx._src.rewrite.tools.set_dims.probe import Probe

# A constant part of a list: who reads it at which slot, where it starts in the list, its entries.
Piece: TypeAlias = tuple[Node, int, int, tuple[int, ...]]


def reshape(node: Node, probe: Probe) -> Iterator[Answer]:
    """The entry that has the stride of the size: the same elements stay together."""
    attribute = node.attributes.get("shape")
    found, pieces = target_of(node, probe)
    now, before = probe.shape(node.inputs[0]), probe.old_shape(node.inputs[0])
    target = probe.old_shape(node.outputs[0])
    if not found or now is None or not any(map(probe.follows, now)):
        return
    if before is None or target is None or len(target) != len(found):
        yield Doubt(node, f"shape {text_of(found)} may hold it: not all sizes of the data are known")
        return
    axes = [i for i, dim in enumerate(now) if probe.follows(dim)]
    places = entries_for(axes[0], before, target, probe) if len(axes) == 1 else []
    place = axes[0] if axes[0] in places else next(iter(places), None)
    if place is None or (len(places) > 1 and place != axes[0]):
        if -1 not in found and None not in found:
            yield Doubt(node, f"several entries of shape {text_of(found)} may hold it")
        return
    entry = found[place]
    if entry in (None, -1) or probe.follows(entry) or (entry == 0 and place in axes):
        return
    new = probe.multiple(target[place])
    others = [str(other) for other in places if other != place]
    which = f"{'entry' if len(others) == 1 else 'entries'} {', '.join(others)}"
    remark = f"{which} would do as well, but {place} is where it was" if others else ""
    if attribute is not None:
        yield Attribute(node, "shape", replaced(tuple(n or 0 for n in found), place, new), remark)
        return
    for reader, slot, start, own in pieces:
        if start <= place < start + len(own):
            if reader is not node and len(reader.outputs[0].uses) > 1:
                yield Doubt(node, f"shape {text_of(found)} holds it, and is read by others too")
            else:
                yield Sizes(reader, slot, replaced(own, place - start, new), remark)


def target_of(node: Node, probe: Probe) -> tuple[tuple[int | None, ...], list[Piece]]:
    """The shape that a Reshape asks for, None where it is computed, and the constants in which the rest stands."""
    attribute = node.attributes.get("shape")
    if attribute is not None and isinstance(attribute.value, tuple):
        return tuple(n for n in attribute.value if isinstance(n, int)), []
    if len(node.inputs) < 2:
        return (), []
    whole = entries(node.inputs[1], probe.model)
    if whole is not None:
        return whole, [(node, 1, 0, whole)]
    maker = node.inputs[1].producer if node.inputs[1] is not None else None
    if maker is None or maker.op_type != "Concat" or maker.domain:
        return (), []
    found: list[int | None] = []
    pieces: list[Piece] = []
    for slot, value in enumerate(maker.inputs):
        own, shape = entries(value, probe.model), probe.shape(value)
        if own is not None:
            pieces.append((maker, slot, len(found), own))
            found += own
        elif shape is not None and len(shape) == 1 and isinstance(shape[0], int):
            found += [None] * shape[0]
        else:
            return (), []
    return tuple(found), pieces


def replaced(found: tuple[int, ...], at: int, new: int) -> tuple[int, ...]:
    return (*found[:at], new, *found[at + 1 :])


def text_of(found: Sequence[int | None]) -> str:
    return f"[{', '.join('?' if n is None else str(n) for n in found)}]"


def entries_for(axis: int, before: Shape, target: Shape, probe: Probe) -> list[int]:
    """The axes of the target in which a size on an axis of the data may be: where the same elements stay together.

    Where there are several they are of length 1, side by side.
    """
    total = before[axis]
    if not isinstance(total, int) or None in before or None in target:
        return []
    inner = product(before[axis + 1 :])
    strides: set[Dim] = {inner}
    if probe.old and inner is not None:
        strides.add(inner * (total // probe.old))
    places = [j for j, dim in enumerate(target) if dim == probe.old and product(target[j + 1 :]) in strides]
    if places:
        return places
    holding = [j for j, dim in enumerate(target) if is_within(dim, product(target[j + 1 :]), strides, probe)]
    return holding if len(holding) == 1 else []


def is_within(dim: Dim, inner: Dim, strides: set[Dim], probe: Probe) -> bool:
    """Whether an axis of that length may be several axes in one, with the size among them."""
    if not isinstance(dim, int) or not isinstance(inner, int) or not dim or not inner or not probe.old:
        return False
    return any(
        isinstance(stride, int) and stride % inner == 0 and (dim * inner) % (stride * probe.old) == 0
        for stride in strides
        if stride
    )


def product(dims: Shape) -> Dim:
    known = [dim for dim in dims if dim is not None]
    return reduce(mul, known, 1) if len(known) == len(dims) else None
