"""Resize of images: pixels repeated by whole factors at any size, or copied and mixed by tables where sizes are numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx._src.compile.endings import ending
from sardonyx._src.compile.geometry import Pair, image, pair
from sardonyx._src.compile.lower.pooling import is_image
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.spatial.late_taps import COORDINATES as COORDINATES_LATE
from sardonyx._src.compile.spatial.late_taps import ROUNDING, LateAxis, late_taps
from sardonyx._src.compile.spatial.resize import by_taps, resized
from sardonyx._src.compile.spatial.upsample import upsampled
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Known, dim_min, known_equal, known_ge
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.image.resize.resample import Manner
from sardonyx._src.ops.image.resize.resize import asked, check_modes, regions_of, unchanged
from sardonyx._src.ops.image.resize.stretch import COORDINATES, Stretch

MODES = ("mode", "coordinate_transformation_mode", "nearest_mode")
MOST = 64  # times that a pixel is repeated along an axis, at most, where only sizes tell
REPEATS = {
    ("asymmetric", "floor"),
    ("half_pixel", "round_prefer_floor"),
    ("half_pixel", "round_prefer_ceil"),
}  # the rules by which whole factors repeat pixels


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a node asks for: scales or sizes of the axes, of which one is None, and the region of interest."""

    axes: tuple[int, ...]
    scales: Array | None
    sizes: Array | None
    region: Array | None


@lowers("Resize", 19)
def resize(call: Call, at: Lowering) -> bool:
    x = call.input(0)
    if x is None or not is_image(at, x) or at.shape(call.output) is None:
        return False
    if call.attributes["keep_aspect_ratio_policy"] != "stretch":
        return False
    wanted = wanted_of(call, at, x)
    if wanted is None:
        return False
    factors = factors_of(call, at, x, wanted)
    if factors is not None:
        source = image(at.channels_last(x))
        end = ending(at, call.output, channels_last=True)
        at.emit(upsampled(source, image(end.y), factors, end.tail, tuple(map(image, end.operands))))
        return True
    return by_tables(call, at, x, wanted) or by_late_tables(call, at, x, wanted)


def wanted_of(call: Call, at: Lowering, x: Value) -> Wanted | None:
    """None where it is not known."""
    rank = len(at.known_shape(x))
    axes = call.ints("axes") or tuple(range(rank))
    if not all(-rank <= axis < rank for axis in axes) or len({axis % rank for axis in axes}) < len(axes):
        return None
    region, scales, sizes = (call.input(i) for i in (1, 2, 3))
    known = (at.constant(region), at.constant(scales), at.elements(sizes))
    for value, found in zip((region, scales, sizes), known, strict=True):
        if value is not None and found is None:
            return None
        if value is not region and found is not None and found.size not in (0, len(axes)):
            return None
    given = [found if found is not None and found.size else None for found in known]
    if (given[1] is None) == (given[2] is None):
        return None
    return Wanted(tuple(axis % rank for axis in axes), given[1], given[2], given[0])


# --- whole factors ---------------------------------------------------------------------------


def factors_of(call: Call, at: Lowering, x: Value, wanted: Wanted) -> Pair | None:
    """How often each pixel is repeated down and to the right, if that is all that is done."""
    if call.attributes["mode"] != "nearest" or tuple(call.attributes[n] for n in MODES[1:]) not in REPEATS:
        return None
    scales = {} if wanted.scales is None else dict(zip(wanted.axes, wanted.scales.reshape(-1), strict=True))
    pairs = zip(at.known_shape(x), at.known_shape(call.output), strict=True)
    found = [factor(size, out) for size, out in pairs]
    numbers = [n for n in found if n is not None]
    if len(numbers) < len(found) or numbers[:2] != [1, 1]:
        return None
    if any(scales.get(i, n) != n for i, n in enumerate(numbers)):
        return None
    spatial = numbers[2:]
    return pair((1, *spatial) if len(spatial) == 1 else tuple(spatial))


def factor(size: Known, out: Known) -> int | None:
    """The number that makes one size of another."""
    if isinstance(size, int) and isinstance(out, int):
        return out // size if size > 0 and out > 0 and out % size == 0 else None
    return next((n for n in range(1, MOST + 1) if known_equal(size * n, out)), None)


# --- tables ----------------------------------------------------------------------------------


def by_tables(call: Call, at: Lowering, x: Value, wanted: Wanted) -> bool:
    """By places and weights of the reference's own, if sizes are numbers and there is a kernel for them."""
    try:
        height, width = stretches(call, at, x, wanted)
        mode, coordinates, rounding = (call.attribute(name, str) for name in MODES)
        check_modes(mode, coordinates, rounding, call.version)
    except (EvaluationError, Unknown):
        return False
    source, manner = image(at.channels_last(x)), manner_of(call)
    shape = (*source.shape[:1], height.out, width.out, *source.shape[3:])
    if resized(source, at.temporary(DataType.FLOAT, shape, "probe"), manner, height, width) is None:
        return False
    end = ending(at, call.output, channels_last=True)
    step = resized(source, image(end.y), manner, height, width, end.tail, tuple(map(image, end.operands)))
    assert step is not None, "what can be done depends on sizes alone"
    at.emit(step)
    return True


class Unknown(Exception):
    """Sizes are no numbers, or the batch or the channels are resized, too."""


def stretches(call: Call, at: Lowering, x: Value, wanted: Wanted) -> list[Stretch]:
    """How height and width are resized; raises Unknown, or EvaluationError for what the operator does not take."""
    crops = call.attributes["coordinate_transformation_mode"] == "tf_crop_and_resize"
    count = len(wanted.axes)
    regions = regions_of(wanted.region, count) if crops else [(0.0, 1.0)] * count
    found = [unchanged(1)] * (4 - len(at.known_shape(x)))
    for axis, (size, out) in enumerate(zip(at.known_shape(x), at.known_shape(call.output), strict=True)):
        at_axis = wanted.axes.index(axis) if axis in wanted.axes else None
        region = (0.0, 1.0) if at_axis is None else regions[at_axis]
        scale = None if at_axis is None or wanted.scales is None else wanted.scales[at_axis : at_axis + 1]
        if axis < 2:
            if size != out or region != (0.0, 1.0) or (scale is not None and scale[0] != 1):
                raise Unknown
        else:
            found.append(stretch(size, out, scale, region))
    return found


def stretch(size: Known, out: Known, scale: Array | None, region: tuple[float, float]) -> Stretch:
    """How one axis is resized: by a scale, or to a size if there is none."""
    if not isinstance(size, int) or not isinstance(out, int):
        raise Unknown
    (found,) = asked([size], scale, np.array([out]) if scale is None else None, [region], "stretch")
    return found


def by_late_tables(call: Call, at: Lowering, x: Value, wanted: Wanted) -> bool:
    """By places and weights that are worked out when sizes are known: of the nearest pixel, or two mixed along each axis."""
    mode, coordinates, rounding = (call.attribute(name, str) for name in MODES)
    known = next((one for one in COORDINATES_LATE if one == coordinates), None)
    if known is None or mode not in ("nearest", "linear") or (mode == "nearest" and rounding not in ROUNDING):
        return False
    axes = late_axes(at, x, call.output, wanted)
    if axes is None or call.attributes["antialias"] or call.attributes["exclude_outside"]:
        return False
    taps = 1 if mode == "nearest" else 2
    places, weights = [], []
    for axis in axes:
        places.append(at.temporary(DataType.INT64, (axis.out, taps), f"{call.output.name}.places"))
        if taps == 2:
            weights.append(at.temporary(DataType.FLOAT, (axis.out, taps), f"{call.output.name}.weights"))
        at.emit(
            late_taps(
                axis, known, rounding if taps == 1 else "", places[-1], weights[-1] if weights else None
            )
        )
    source = image(at.channels_last(x))
    end = ending(at, call.output, channels_last=True)
    operands = tuple(map(image, end.operands))
    at.emit(by_taps(source, image(end.y), (taps, taps), [*places, *weights], end.tail, operands))
    return True


def late_axes(at: Lowering, x: Value, y: Value, wanted: Wanted) -> list[LateAxis] | None:
    """Height and width; None where something else is resized, too, or an axis may have nothing to read."""
    shapes = list(zip(at.known_shape(x), at.known_shape(y), strict=True))
    scales = {} if wanted.scales is None else dict(zip(wanted.axes, wanted.scales.reshape(-1), strict=True))
    if len(shapes) not in (3, 4) or any(
        size != out or scales.get(i, 1) != 1 for i, (size, out) in enumerate(shapes[:2])
    ):
        return None
    if any(not np.isfinite(scale) or scale <= 0 for scale in scales.values()):
        return None
    for size, _ in shapes[2:]:
        if known_ge(size, 1) is False:
            return None
        if known_ge(size, 1) is None:
            at.demands[dim_min(size, 1), 1] = None
    whole = None if wanted.scales is None else 1.0
    found = [LateAxis(1, 1, whole)] * (4 - len(shapes))
    for i, (size, out) in enumerate(shapes[2:], 2):
        found.append(LateAxis(size, out, float(scales[i]) if i in scales else whole))
    return found


def manner_of(call: Call) -> Manner:
    return Manner(
        call.attribute("mode", str),
        COORDINATES[call.attribute("coordinate_transformation_mode", str)],
        call.attribute("nearest_mode", str),
        call.attribute("cubic_coeff_a", float),
        bool(call.attributes["antialias"]),
        bool(call.attributes["exclude_outside"]),
        call.attribute("extrapolation_value", float),
    )
