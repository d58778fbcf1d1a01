"""Scan: a subgraph run for every slice of the inputs along one axis, with a state carried from slice to slice.

Spec: ai.onnx Scan-8, -9, -11, -16, -19, -21, -23, -24, -25.  Version 8 has a batch axis in front of everything, scans
axis 1, and each batch may have a length of its own; 9 drops both and lets inputs and outputs be scanned along any
axis in either direction, 11 counts axes from the back too; the others added element types.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError, LimitError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Graph
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType, Type
from sardonyx._src.ops.api import Call, Operator, RuntimeValue, claim
from sardonyx._src.ops.control.bodies import ScanOutput, blank, run_body
from sardonyx._src.ops.control.joins import shapeless
from sardonyx._src.ops.control.unrolled import Unrolled, slices_scanned
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.shapes import axis_of, merge_dims, merge_shapes

op = Operator("Scan")
Axes = Sequence[int] | None


# --- types -----------------------------------------------------------------------------------


@op.infer(9, 11, 16, 19, 21, 23, 24, 25)
def infer(t: Inference) -> Result:
    count = t.integer("num_scan_inputs")
    states, scans = split_types(t, list(t.inputs), count)
    axes = t.integers("scan_input_axes") or (0,) * count
    out_axes = t.integers("scan_output_axes")
    if len(axes) != count:
        t.fail(f"scan_input_axes has {len(axes)} entries for {count} scan inputs")
    lengths: list[Dim] = []
    slices: list[Type | None] = []
    for scan, axis in zip(scans, axes, strict=True):
        if scan is None or scan.shape is None:
            slices.append(shapeless(scan))
            continue
        at = t.axis(axis, len(scan.shape))
        lengths.append(scan.shape[at])
        slices.append(TensorType(scan.dtype, scan.shape[:at] + scan.shape[at + 1 :]))
    length = merge_dims(t, lengths, "the lengths of the scan inputs")
    exact = slices_scanned(t, states, slices, scanned_elements(t, axes, length), length)
    final, elements = body_types(t, states, slices)
    if exact is not None:
        t.tell([*exact.known, *stacked_elements(t, exact)])
    out_axes = out_axes or (0,) * len(elements)
    if len(out_axes) < len(elements):
        t.fail(f"scan_output_axes has {len(out_axes)} entries for {len(elements)} scan outputs")
    outs = [with_axis(t, e, axis, length) for e, axis in zip(elements, out_axes, strict=False)]
    return [*final, *outs]


def scanned_elements(t: Inference, axes: Sequence[int], length: Dim) -> list[Known | None]:
    """What is known of the elements of the scan inputs, slices in the order in which they are scanned."""
    first, backward = len(t.inputs) - len(axes), t.integers("scan_input_directions") or (0,) * len(axes)
    found = [t.value(first + i) for i in range(len(axes))]
    if len(backward) != len(axes):
        return [None] * len(axes)
    moved = [None if x is None else np.moveaxis(x, axis, 0) for x, axis in zip(found, axes, strict=True)]
    usable = [x if x is not None and len(x) == length else None for x in moved]
    return [x[::-1] if x is not None and back else x for x, back in zip(usable, backward, strict=True)]


def stacked_elements(t: Inference, exact: Unrolled) -> list[Known | None]:
    """What is known of the elements of the scan outputs."""
    found = exact.stacked()
    axes = t.integers("scan_output_axes") or (0,) * len(found)
    prepended = t.integers("scan_output_directions") or (0,) * len(found)
    if not len(axes) == len(prepended) == len(found):
        return []
    ordered = [x[::-1] if x is not None and back else x for x, back in zip(found, prepended, strict=True)]
    return [
        None if x is None or not -x.ndim <= axis < x.ndim else np.moveaxis(x, 0, axis)
        for x, axis in zip(ordered, axes, strict=True)
    ]


@op.infer(8)
def infer_8(t: Inference) -> Result:
    states, scans = split_types(t, list(t.inputs[1:]), t.integer("num_scan_inputs"))
    shapes = [s.shape for s in [*states, *scans] if s is not None and s.shape is not None]
    if any(len(s) < 1 for s in shapes) or any(s and s.shape is not None and len(s.shape) < 2 for s in scans):
        t.fail("a state needs a batch axis, a scan input a batch axis and a sequence axis")
    batch = merge_dims(t, [s[0] for s in shapes], "the batch sizes")
    length = merge_dims(
        t, [s.shape[1] for s in scans if s and s.shape is not None], "the lengths of the scan inputs"
    )
    slices = [without_axes(s, 2) for s in scans]
    final, elements = body_types(t, [without_axes(s, 1) for s in states], slices)
    return [with_axis(t, s, 0, batch) for s in final] + [
        with_axis(t, with_axis(t, e, 0, length), 0, batch) for e in elements
    ]


def split_types(
    t: Inference, types: list[Type | None], count: int
) -> tuple[list[TensorType | None], list[TensorType | None]]:
    """The types of the states and of the `count` scan inputs, which all are tensors."""
    if not 1 <= count <= len(types):
        t.fail(f"num_scan_inputs is {count} for {len(types)} inputs")
    tensors: list[TensorType | None] = []
    for found in types:
        if found is not None and not isinstance(found, TensorType):
            t.fail(f"an input is {found}; states and scan inputs are tensors")
        tensors.append(found)
    return tensors[:-count], tensors[-count:]


def body_types(
    t: Inference, states: Sequence[TensorType | None], slices: Sequence[Type | None]
) -> tuple[list[Type | None], list[Type | None]]:
    """The types of the final states, whose shapes no iteration may change, and of the elements of scan outputs."""
    results = t.subgraph("body", [*states, *slices])
    if results is None:
        return list(states), [None] * max(t.outputs - len(states), 0)
    if len(results) < max(t.outputs, len(states)):
        t.fail(f"the body has {len(results)} outputs, {max(t.outputs, len(states))} are wanted")
    final: list[Type | None] = []
    for i, (before, after) in enumerate(zip(states, results, strict=False)):
        found = [x for x in (before, after) if isinstance(x, TensorType)]
        if len({x.dtype for x in found}) > 1:
            t.fail(f"state {i} is {before} before an iteration and {after} after it")
        shape = merge_shapes(
            t, [x.shape for x in found], f"the shapes of state {i} before and after an iteration"
        )
        final.append(TensorType(found[0].dtype, shape) if found else None)
    return final, results[len(states) :]


def with_axis(t: Inference, element: Type | None, axis: int, size: Dim) -> Type | None:
    """The type with one more axis, of that size, at `axis` of the result."""
    if not isinstance(element, TensorType) or element.shape is None:
        return element
    shape: Shape = element.shape
    at = t.axis(axis, len(shape) + 1)
    return TensorType(element.dtype, (*shape[:at], size, *shape[at:]))


def without_axes(found: TensorType | None, count: int) -> TensorType | None:
    if found is None or found.shape is None:
        return found
    return TensorType(found.dtype, found.shape[count:])


# --- values ----------------------------------------------------------------------------------


@op.eval(9, 11, 16, 19, 21, 23, 24, 25)
def evaluate(
    *initial_state_and_scan_inputs: Array,
    body: Graph,
    num_scan_inputs: int,
    scan_input_axes: Axes = None,
    scan_input_directions: Axes = None,
    scan_output_axes: Axes = None,
    scan_output_directions: Axes = None,
    call: Call,
) -> tuple[RuntimeValue, ...]:
    """Results: final states, then the scan outputs, each with an axis more than the body's element.

    Without any slice a scan output has length 0 and the element type and sizes that the body declares for it.
    """
    states, inputs = split_values(initial_state_and_scan_inputs, num_scan_inputs)
    outputs = len(body.outputs) - len(states)
    axes = listed(scan_input_axes, len(inputs), "scan_input_axes")
    backward = flags(scan_input_directions, len(inputs), "scan_input_directions")
    scans = [np.moveaxis(x, axis_of(axis, x.ndim), 0) for x, axis in zip(inputs, axes, strict=True)]
    scans = [x[::-1] if back else x for x, back in zip(scans, backward, strict=True)]
    out_axes = listed(scan_output_axes, outputs, "scan_output_axes")
    prepended = flags(scan_output_directions, outputs, "scan_output_directions")
    length = common_size([len(x) for x in scans], "lengths of the scan inputs")
    final, collected = scan(call, body, states, scans, length)
    for found, back in zip(collected, prepended, strict=True):
        if back:
            found.elements.reverse()
    return *final, *(x.stacked(axis) for x, axis in zip(collected, out_axes, strict=True))


@op.eval(8)
def evaluate_8(
    sequence_lens: Array | None,
    *initial_state_and_scan_inputs: Array,
    body: Graph,
    num_scan_inputs: int,
    directions: Axes = None,
    call: Call,
) -> tuple[RuntimeValue, ...]:
    """States: [batch, ...], scan inputs: [batch, length, ...], scan outputs: [batch, length, ...].

    A batch shorter than the others is scanned up to its own length, backwards from there, and its scan outputs are
    filled up with zeros (the text leaves them open).
    """
    states, inputs = split_values(initial_state_and_scan_inputs, num_scan_inputs)
    if any(x.ndim < 1 for x in states) or any(x.ndim < 2 for x in inputs):
        raise EvaluationError("a state needs a batch axis, a scan input a batch axis and a sequence axis")
    backward = flags(directions, len(inputs), "directions")
    batch = common_size([len(x) for x in (*states, *inputs)], "batch sizes")
    longest = common_size([x.shape[1] for x in inputs], "lengths of the scan inputs")
    lengths = [longest] * batch if sequence_lens is None else [int(n) for n in sequence_lens.reshape(-1)]
    if len(lengths) != batch or not all(0 <= n <= longest for n in lengths):
        raise EvaluationError(f"sequence_lens is {lengths}; {batch} lengths from 0 to {longest} are wanted")
    finals: list[list[RuntimeValue]] = []
    collected: list[list[ScanOutput]] = []
    for b, n in enumerate(lengths):
        rows = [x[b, :n][::-1] if back else x[b, :n] for x, back in zip(inputs, backward, strict=True)]
        final, found = scan(call, body, [np.asarray(x[b]) for x in states], rows, n)
        finals.append(final)
        collected.append(found)
    if not batch:
        empty = [ScanOutput(call, v).stacked(length=longest) for v in body.outputs[len(states) :]]
        return *states, *(blank((0, *x.shape), x.dtype) for x in empty)
    final_states = [stacked_batches(call, column) for column in zip(*finals, strict=True)]
    outs = [stacked_batches(call, filled(column, longest)) for column in zip(*collected, strict=True)]
    return *final_states, *outs


def filled(column: Sequence[ScanOutput], length: int) -> list[Array]:
    """One scan output of every batch; a batch without any slice gets the sizes of the others."""
    pattern = next((x for x in column if x.elements), column[0]).stacked(length=length)
    return [x.stacked(length=length) if x.elements else blank(pattern.shape, pattern.dtype) for x in column]


def stacked_batches(call: Call, rows: Sequence[RuntimeValue]) -> Array:
    arrays = [x for x in rows if isinstance(x, np.ndarray)]
    claim(call, (len(arrays), *arrays[0].shape), arrays[0].dtype, "Scan result")
    return np.stack(arrays)


def scan(
    call: Call, body: Graph, states: list[Array], scans: Sequence[Array], length: int
) -> tuple[list[RuntimeValue], list[ScanOutput]]:
    """The final states and the collected elements after `length` slices along axis 0 of `scans`."""
    if length > call.limits.iterations:
        raise LimitError(f"the inputs have {length} slices to scan", limit="limits.iterations")
    current: list[RuntimeValue] = list(states)
    collected = [ScanOutput(call, value) for value in body.outputs[len(states) :]]
    for i in range(length):
        results = run_body(call, body, [*current, *(x[i, ...] for x in scans)], len(states) + len(collected))
        current = results[: len(states)]
        for before, after in zip(states, current, strict=True):
            if not isinstance(after, np.ndarray) or after.shape != before.shape:
                what = f"a state of shape {list(before.shape)} becomes {getattr(after, 'shape', after)}"
                raise EvaluationError(f"{what} in iteration {i}; the shape of a state must not change")
        for found, element in zip(collected, results[len(states) :], strict=True):
            found.add(element)
    return current, collected


def split_values(values: Sequence[Array], count: int) -> tuple[list[Array], list[Array]]:
    if not 1 <= count <= len(values):
        raise EvaluationError(
            f"num_scan_inputs is {count} for {len(values)} inputs; at least one is wanted, at most all"
        )
    return list(values[:-count]), list(values[-count:])


def listed(values: Axes, count: int, what: str) -> Sequence[int]:
    """One entry for each of `count` inputs or outputs, zeros where none are given."""
    if values is not None and len(values) != count:
        raise EvaluationError(f"{what} has {len(values)} entries; {count} are wanted")
    return values if values is not None else (0,) * count


def flags(values: Axes, count: int, what: str) -> list[bool]:
    found = listed(values, count, what)
    if any(v not in (0, 1) for v in found):
        raise EvaluationError(f"{what} is {list(found)}; 0 and 1 are wanted")
    return [v == 1 for v in found]


def common_size(sizes: Sequence[int], what: str) -> int:
    if len(set(sizes)) > 1:
        raise EvaluationError(f"{what} differ: {list(sizes)}")
    return sizes[0]
