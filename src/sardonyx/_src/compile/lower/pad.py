"""Pad: what there is put inside of a frame."""

from __future__ import annotations

from functools import partial
from typing import cast, get_args

from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.moves.pad import Mode, padded
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.ir.dims import Expr, Known, dim_max, known_equal, known_ge
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.tensor.zeros import zero


@lowers("Pad", 25)
def pad(call: Call, at: Lowering) -> bool:
    x, shape, mode = call.input(0), at.shape(call.output), call.attribute("mode", str)
    if x is None or shape is None or not at.is_native(x) or mode not in get_args(Mode):
        return False
    pads, value = pads_of(call, at, x), value_of(call, at, x)
    if pads is None or value is None or not grows_to(at.known_shape(x), pads, shape):
        return False
    before, how = [first for first, _ in pads], cast(Mode, mode)
    source, probe = at.strided(x), at.temporary(at.dtype(x), shape, "probe")
    demands = dict(at.demands)
    if padded(source, probe, before, how, value, reaches=partial(reaches, at)) is None:
        at.demands = demands
        return False
    at.result(call.output, channels_last=at.has_channels_last(x))
    steps = padded(source, at.forms[call.output][0], before, how, value, reaches=partial(reaches, at))
    assert steps is not None, "what can be done depends on shapes alone"
    at.emit(*steps)
    return True


def reaches(at: Lowering, size: Known, wanted: Known) -> bool:
    """Whether a size is at least another one in every run; where that is not known, runs are held to it."""
    found = known_ge(size, wanted)
    return at.agree(dim_max(size, wanted), size) if found is None else found


def pads_of(call: Call, at: Lowering, x: Value) -> list[tuple[Known, Known]] | None:
    """How many entries come before and behind those of each axis; None where that is not known."""
    rank = len(at.known_shape(x))
    counts, chosen = at.elements(call.input(1)), at.elements(call.input(3))
    if counts is None or (call.input(3) is not None and chosen is None):
        return None
    axes = list(range(rank)) if chosen is None else [int(axis) for axis in chosen]
    known = [count if isinstance(count, Expr) else int(count) for count in counts if count is not None]
    if len(known) != 2 * len(axes) or not all(-rank <= axis < rank for axis in axes):
        return None
    around: dict[int, tuple[Known, Known]] = {}
    for i, axis in enumerate(axes):
        around[axis % rank] = (known[i], known[i + len(axes)])
    if len(around) != len(axes):
        return None
    return [around.get(axis, (0, 0)) for axis in range(rank)]


def value_of(call: Call, at: Lowering, x: Value) -> Array | None:
    """What a constant frame is filled with; None where that is not known."""
    if call.input(2) is None:
        return zero(at.dtype(x).numpy)
    found = at.constant(call.input(2))
    fits = found is not None and found.size == 1 and found.dtype == at.dtype(x).numpy
    return found if fits else None


def grows_to(shape: tuple[Known, ...], pads: list[tuple[Known, Known]], wanted: tuple[Known, ...]) -> bool:
    if len(shape) != len(wanted):
        return False
    sums = zip(shape, pads, wanted, strict=True)
    return all(known_equal(before + size + behind, whole) for size, (before, behind), whole in sums)
