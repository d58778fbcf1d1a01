"""The repair rule of Reshape: the entry of the shape that holds the size of an axis of the data.

The shapes come from a probe (`probe.py`), in which a large prime stands for the new size, so that its multiples are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from sardonyx._src.ir import Node, Shape
from sardonyx._src.ir.dims import Dim, dim_product
from sardonyx._src.tools.set_dims.constants import constant_sizes
from sardonyx._src.tools.set_dims.probe import Probe
from sardonyx._src.tools.set_dims.repairs import AttributeRepair, InputRepair, RuleResult, Unresolved

# A constant part of a shape: the node and slot that read the constant, its offset in the shape, and its entries.
ConstantPart: TypeAlias = tuple[Node, int, int, tuple[int, ...]]


def reshape(node: Node, probe: Probe) -> Iterator[RuleResult]:
    """Repair the entry whose stride equals that of the changed axis, which keeps the same elements together."""
    attribute = node.attributes.get("shape")
    shape, parts = target_of(node, probe)
    now, before = probe.shape(node.inputs[0]), probe.old_shape(node.inputs[0])
    old_target = probe.old_shape(node.outputs[0])
    if not shape or now is None or not any(map(probe.is_multiple, now)):
        return
    if before is None or old_target is None or len(old_target) != len(shape):
        yield Unresolved(node, f"shape {shape_text(shape)} may hold it: not all sizes of the data are known")
        return
    axes = [i for i, dim in enumerate(now) if probe.is_multiple(dim)]
    indices = matching_entries(axes[0], before, old_target, probe) if len(axes) == 1 else []
    index = axes[0] if axes[0] in indices else next(iter(indices), None)
    if index is None or (len(indices) > 1 and index != axes[0]):
        if -1 not in shape and None not in shape:  # else the run computes an entry, which follows the data
            yield Unresolved(node, f"it is undecided which entry of shape {shape_text(shape)} holds it")
        return
    entry = shape[index]
    if entry in (None, -1) or probe.is_multiple(entry) or (entry == 0 and index in axes):
        return
    new = probe.multiple(old_target[index])
    others = [str(other) for other in indices if other != index]
    which = f"{'entry' if len(others) == 1 else 'entries'} {', '.join(others)}"
    remark = f"{which} would fit too; {index} is the axis it had" if others else ""
    if attribute is not None:
        yield AttributeRepair(node, "shape", with_entry(tuple(n or 0 for n in shape), index, new), remark)
        return
    for reader, slot, start, sizes in parts:
        if start <= index < start + len(sizes):
            if reader is not node and len(reader.outputs[0].uses) > 1:
                yield Unresolved(node, f"shape {shape_text(shape)} holds it, but has other uses")
            else:
                yield InputRepair(reader, slot, with_entry(sizes, index - start, new), remark)


def target_of(node: Node, probe: Probe) -> tuple[tuple[int | None, ...], list[ConstantPart]]:
    """The shape operand of a Reshape, None for computed entries, and its constant parts."""
    attribute = node.attributes.get("shape")
    if attribute is not None and isinstance(attribute.value, tuple):
        return tuple(n for n in attribute.value if isinstance(n, int)), []
    if len(node.inputs) < 2:
        return (), []
    sizes = constant_sizes(node.inputs[1], probe.model)
    if sizes is not None:
        return sizes, [(node, 1, 0, sizes)]
    source = node.inputs[1].producer if node.inputs[1] is not None else None
    if source is None or source.op_type != "Concat" or source.domain:
        return (), []
    shape: list[int | None] = []
    parts: list[ConstantPart] = []
    for slot, value in enumerate(source.inputs):
        sizes, dims = constant_sizes(value, probe.model), probe.shape(value)
        if sizes is not None:
            parts.append((source, slot, len(shape), sizes))
            shape += sizes
        elif dims is not None and len(dims) == 1 and isinstance(dims[0], int):
            shape += [None] * dims[0]
        else:
            return (), []
    return tuple(shape), parts


def with_entry(sizes: tuple[int, ...], index: int, new: int) -> tuple[int, ...]:
    return (*sizes[:index], new, *sizes[index + 1 :])


def shape_text(shape: Sequence[int | None]) -> str:
    return f"[{', '.join('?' if n is None else str(n) for n in shape)}]"


def matching_entries(axis: int, before: Shape, target: Shape, probe: Probe) -> list[int]:
    """The axes of the target shape that may hold the size of a data axis, or the old size as its outer factor.

    Their strides equal that of the axis or of the factor; several of them are axes beside axes of length 1.  If there is none,
    the one axis that merges the axis with its neighbors.
    """
    total = before[axis]
    if not isinstance(total, int) or None in before or None in target:
        return []
    inner = dim_product(before[axis + 1 :])
    strides: set[Dim] = {inner}
    if probe.old and inner is not None:
        strides.add(inner * (total // probe.old))
    places = [
        j for j, dim in enumerate(target) if dim == probe.old and dim_product(target[j + 1 :]) in strides
    ]
    if places:
        return places
    holding = [
        j for j, dim in enumerate(target) if is_merged_axis(dim, dim_product(target[j + 1 :]), strides, probe)
    ]
    return holding if len(holding) == 1 else []


def is_merged_axis(dim: Dim, inner: Dim, strides: set[Dim], probe: Probe) -> bool:
    """Whether a target axis may merge several axes, one of which has the old size."""
    if not isinstance(dim, int) or not isinstance(inner, int) or not dim or not inner or not probe.old:
        return False
    return any(
        isinstance(stride, int) and stride % inner == 0 and (dim * inner) % (stride * probe.old) == 0
        for stride in strides
        if stride
    )
