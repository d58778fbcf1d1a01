"""NumPy's indexing as nodes: Slice, Squeeze, Unsqueeze and Gather."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from sardonyx._src.arguments import shown
from sardonyx._src.build.operand import Operand, OperandOwner
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError

MAX = (1 << 63) - 1
FORMS = "integers, slices, None, ... and one operand or list of integers"


@dataclass(slots=True)
class Selection:
    """A parsed index.

    axes, starts, ends, steps: the ranges of entries, one for each axis of the operand that the index restricts.
    removed: axes of the operand that the result lacks.
    inserted: axes of the result that the operand lacks.
    gathered: an axis of the operand and its indices, None if all are ranges.
    """

    starts: list[int | Operand] = field(default_factory=list)
    ends: list[int | Operand] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    axes: list[int] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    inserted: list[int] = field(default_factory=list)
    gathered: tuple[int, object] | None = None


def select_part(builder: OperandOwner, operand: Operand, index: object) -> Operand:
    """The part of an operand at an index.

    Raises InputError for an index that is not supported, such as a boolean mask (use b.Compress).
    """
    selection = read_index(operand, index)
    result = operand
    if selection.axes:
        starts, ends = bounds(builder, selection.starts), bounds(builder, selection.ends)
        steps = selection.steps
        result = builder.call(
            "Slice", result, starts, ends, selection.axes, *([steps] if set(steps) != {1} else [])
        )
    if selection.gathered is not None:
        axis, indices = selection.gathered
        result = builder.call("Gather", result, indices, axis=axis)  # type: ignore[arg-type]  # converted by call
    if selection.removed:
        result = builder.call("Squeeze", result, selection.removed)
    if selection.inserted:
        result = builder.call("Unsqueeze", result, selection.inserted)
    return result


def read_index(operand: Operand, index: object) -> Selection:
    """The selection that an index means for an operand."""
    parts = expand_ellipsis(operand, index if isinstance(index, tuple) else (index,))
    selection, axis, position = Selection(), 0, 0
    for part in parts:
        if part is None:
            selection.inserted.append(position)
            position += 1
            continue
        if isinstance(part, slice):
            add_slice(selection, part, axis)
            position += 1
        elif isinstance(part, int | np.integer) and not isinstance(part, bool):
            add_range(selection, axis, int(part), int(part) + 1 if part != -1 else MAX, 1)
            selection.removed.append(axis)
        elif isinstance(part, Operand | list | np.ndarray) and selection.gathered is None:
            refuse_mask(part)
            selection.gathered = axis, part
            position += 1
        else:
            raise InputError(f"an index must consist of {FORMS}; got {shown(part)}", name="index")
        axis += 1
    if operand.rank is not None and axis > operand.rank:
        raise InputError(
            f"an index of {operand.name!r} must have at most {operand.rank} axes; got {axis}", name="index"
        )
    if selection.gathered is not None and (selection.removed or selection.inserted):
        raise InputError(
            "an index with an operand must have no integers and no None; use two indices", name="index"
        )
    return selection


def expand_ellipsis(operand: Operand, parts: tuple[object, ...]) -> list[object]:
    """The parts with `...` replaced by full slices."""
    positions = [i for i, part in enumerate(parts) if part is Ellipsis]
    if not positions:
        return list(parts)
    if len(positions) > 1 or operand.rank is None:
        raise InputError(
            f"an index may have one ..., on an operand of known rank; {operand.name!r} is {operand.type}",
            name="index",
        )
    consumed = sum(part is not None and part is not Ellipsis for part in parts)
    full: list[object] = [slice(None)] * (operand.rank - consumed)
    return [*parts[: positions[0]], *full, *parts[positions[0] + 1 :]]


def add_slice(selection: Selection, part: slice, axis: int) -> None:
    step = 1 if part.step is None else part.step
    if not isinstance(step, int | np.integer) or step == 0:
        raise InputError(
            f"the step of a slice must be an integer other than 0; got {shown(step)}", name="index"
        )
    if part.start is None and part.stop is None and step == 1:
        return
    start = part.start if part.start is not None else (0 if step > 0 else MAX)
    end = part.stop if part.stop is not None else (MAX if step > 0 else -MAX - 1)
    add_range(selection, axis, start, end, int(step))


def add_range(selection: Selection, axis: int, start: object, end: object, step: int) -> None:
    for bound in (start, end):
        if not isinstance(bound, int | np.integer | Operand):
            raise InputError(
                f"the bounds of a slice must be integers or operands; got {shown(bound)}", name="index"
            )
    selection.axes.append(axis)
    selection.starts.append(start if isinstance(start, Operand) else int(start))  # type: ignore[call-overload]
    selection.ends.append(end if isinstance(end, Operand) else int(end))  # type: ignore[call-overload]
    selection.steps.append(step)


def bounds(builder: OperandOwner, values: list[int | Operand]) -> list[int] | Operand:
    """Bounds as one operand of rank 1, or as a list if all of them are numbers."""
    if not any(isinstance(value, Operand) for value in values):
        return [value for value in values if isinstance(value, int)]
    parts = [builder.call("Reshape", v, [1]) if isinstance(v, Operand) else [v] for v in values]
    if len(parts) == 1:
        return parts[0]
    return builder.call(
        "Concat", *(np.asarray(p, np.int64) if isinstance(p, list) else p for p in parts), axis=0
    )


def refuse_mask(part: object) -> None:
    dtype = part.dtype if isinstance(part, Operand) else np.asarray(part).dtype
    if str(getattr(dtype, "text", dtype)) == "bool":
        raise InputError("an index must not be a mask; use b.Compress, or b.Where", name="index")
