"""Scan: a subgraph run for every slice of the inputs along one axis, with a state carried from slice to slice.

Spec: ai.onnx Scan-8, -9, -11, -16, -19, -21, -23, -24, -25.  In version 8 all values have a batch axis first, axis 1 is
scanned, and each batch may have its own length.  Version 9 has no batch axis and no such lengths, and scans inputs and outputs
along any axis in either direction; 11 allows negative axes; the other versions added element types.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError, LimitError
from sardonyx._src.ir import Array, Graph, Shape, TensorType, Type
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator, RunContext, RuntimeValue, check_result_bytes, tensor_type
from sardonyx._src.ops.control.bodies import ScanOutput, bind_body, blank, set_element_types
from sardonyx._src.ops.control.joins import drop_shape
from sardonyx._src.ops.control.unrolled import UnrolledLoop, unroll_scan
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.support.shapes import axis_of, merge_dims, merge_shapes

op = Operator("Scan", size_rule="scan_states", body_inputs=lambda inputs: inputs)
Axes = Sequence[int] | None


# --- types -----------------------------------------------------------------------------------


@op.infer(9, 11, 16, 19, 21, 23, 24, 25)
def infer(inference: Inference) -> Result:
    count = inference.integer("num_scan_inputs")
    if not all(map(inference.has, range(len(inference.inputs)))):
        inference.fail("states and scan inputs must be given; one is omitted")
    states, scans = split_types(inference, list(inference.inputs), count)
    axes = inference.integers("scan_input_axes")
    axes = (0,) * count if axes is None else axes
    out_axes = inference.integers("scan_output_axes")
    if len(axes) != count:
        inference.fail(f"scan_input_axes must have {count} entries; got {len(axes)}")
    directions = inference.integers("scan_input_directions")
    if directions is not None and len(directions) != count:
        inference.fail(f"scan_input_directions must have {count} entries; got {len(directions)}")
    lengths: list[Dim] = []
    slices: list[Type | None] = []
    for scan, axis in zip(scans, axes, strict=True):
        if scan is None or scan.shape is None:
            slices.append(drop_shape(scan))
            continue
        position = inference.axis(axis, len(scan.shape))
        lengths.append(scan.shape[position])
        slices.append(TensorType(scan.dtype, scan.shape[:position] + scan.shape[position + 1 :]))
    length = merge_dims(inference, lengths, "the lengths of the scan inputs")
    exact = unroll_scan(inference, states, slices, scanned_elements(inference, axes, length), length)
    final, elements = body_types(inference, states, slices)
    if exact is not None:
        inference.set_output_elements([*exact.known, *stacked_elements(inference, exact)])
    for name in ("scan_output_axes", "scan_output_directions"):
        check_entries(inference, name, elements)
    out_axes = out_axes or (0,) * len(elements)
    outs = [with_axis(inference, e, axis, length) for e, axis in zip(elements, out_axes, strict=False)]
    return [*final, *outs]


def check_entries(inference: Inference, name: str, elements: Sequence[Type | None]) -> None:
    """Raises InferenceError unless an attribute, if given, has one entry for each scan output of the body.

    A body of unknown types may have more scan outputs than the node has.
    """
    entries = inference.integers(name)
    count = len(elements if entries is None else entries)
    if count < len(elements) or (count > len(elements) and any(element is not None for element in elements)):
        inference.fail(f"{name} must have {len(elements)} entries; got {count}")


def scanned_elements(inference: Inference, axes: Sequence[int], length: Dim) -> list[Known | None]:
    """The known elements of the scan inputs, slices in scan order."""
    first, backward = (
        len(inference.inputs) - len(axes),
        inference.integers("scan_input_directions") or (0,) * len(axes),
    )
    values = [inference.value(first + i) for i in range(len(axes))]
    if len(backward) != len(axes):
        return [None] * len(axes)
    leading = [None if x is None else np.moveaxis(x, axis, 0) for x, axis in zip(values, axes, strict=True)]
    usable = [x if x is not None and len(x) == length else None for x in leading]
    return [x[::-1] if x is not None and back else x for x, back in zip(usable, backward, strict=True)]


def stacked_elements(inference: Inference, exact: UnrolledLoop) -> list[Known | None]:
    """The known elements of the scan outputs."""
    stacks = exact.stack()
    axes = inference.integers("scan_output_axes") or (0,) * len(stacks)
    prepended = inference.integers("scan_output_directions") or (0,) * len(stacks)
    if not len(axes) == len(prepended) == len(stacks):
        return []
    ordered = [x[::-1] if x is not None and back else x for x, back in zip(stacks, prepended, strict=True)]
    return [
        None if x is None or not -x.ndim <= axis < x.ndim else np.moveaxis(x, 0, axis)
        for x, axis in zip(ordered, axes, strict=True)
    ]


@op.infer(8)
def infer_8(inference: Inference) -> Result:
    states, scans = split_types(inference, list(inference.inputs[1:]), inference.integer("num_scan_inputs"))
    shapes = [s.shape for s in [*states, *scans] if s is not None and s.shape is not None]
    if any(len(s) < 1 for s in shapes) or any(s and s.shape is not None and len(s.shape) < 2 for s in scans):
        inference.fail(
            "states must have a batch axis, scan inputs a batch and a sequence axis; got lower ranks"
        )
    batch = merge_dims(inference, [s[0] for s in shapes], "the batch sizes")
    length = merge_dims(
        inference, [s.shape[1] for s in scans if s and s.shape is not None], "the lengths of the scan inputs"
    )
    slices = [without_axes(s, 2) for s in scans]
    final, elements = body_types(inference, [without_axes(s, 1) for s in states], slices)
    return [with_axis(inference, s, 0, batch) for s in final] + [
        with_axis(inference, with_axis(inference, e, 0, length), 0, batch) for e in elements
    ]


def split_types(
    inference: Inference, types: list[Type | None], count: int
) -> tuple[list[TensorType | None], list[TensorType | None]]:
    """The types of the states, and of the `count` scan inputs, which must be tensors."""
    if not 1 <= count <= len(types):
        inference.fail(f"num_scan_inputs must be in [1, {len(types)}]; got {count}")
    tensors: list[TensorType | None] = []
    for type in types:
        if type is not None and not isinstance(type, TensorType):
            inference.fail(f"states and scan inputs must be tensors; got {type}")
        tensors.append(type)
    return tensors[:-count], tensors[-count:]


def body_types(
    inference: Inference, states: Sequence[TensorType | None], slices: Sequence[Type | None]
) -> tuple[list[Type | None], list[Type | None]]:
    """The types of the final states, whose shapes must be the same in all iterations, and of the elements of scan outputs."""
    results = inference.subgraph("body", [*states, *slices])
    if results is None:
        return list(states), [None] * max(inference.outputs - len(states), 0)
    if len(results) < max(inference.outputs, len(states)):
        inference.fail(
            f"the body must have {max(inference.outputs, len(states))} outputs; got {len(results)}"
        )
    final: list[Type | None] = []
    for i, (before, after) in enumerate(zip(states, results, strict=False)):
        known = [x for x in (before, after) if isinstance(x, TensorType)]
        if len({x.dtype for x in known}) > 1:
            inference.fail(f"state {i} must keep its type, {before}, in an iteration; got {after}")
        shape = merge_shapes(
            inference, [x.shape for x in known], f"the shapes of state {i} before and after an iteration"
        )
        final.append(TensorType(known[0].dtype, shape) if known else None)
    return final, results[len(states) :]


def with_axis(inference: Inference, element: Type | None, axis: int, size: Dim) -> Type | None:
    """The type with a new axis of size `size`, which is axis `axis` of the result."""
    if not isinstance(element, TensorType) or element.shape is None:
        return element
    shape: Shape = element.shape
    position = inference.axis(axis, len(shape) + 1)
    return TensorType(element.dtype, (*shape[:position], size, *shape[position:]))


def without_axes(type: TensorType | None, count: int) -> TensorType | None:
    if type is None or type.shape is None:
        return type
    return TensorType(type.dtype, type.shape[count:])


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
    context: RunContext,
) -> tuple[RuntimeValue, ...]:
    """Results: the final states, followed by the scan outputs, each of which has one axis more than the output of the body.

    Without any slice a scan output has length 0, with the element type and the other sizes that a first slice would give.
    """
    states, inputs = split_values(initial_state_and_scan_inputs, num_scan_inputs)
    outputs = len(body.outputs) - len(states)
    axes = entries_or_zeros(scan_input_axes, len(inputs), "scan_input_axes")
    backward = flags(scan_input_directions, len(inputs), "scan_input_directions")
    scans = [np.moveaxis(x, axis_of(axis, x.ndim), 0) for x, axis in zip(inputs, axes, strict=True)]
    scans = [x[::-1] if back else x for x, back in zip(scans, backward, strict=True)]
    out_axes = entries_or_zeros(scan_output_axes, outputs, "scan_output_axes")
    prepended = flags(scan_output_directions, outputs, "scan_output_directions")
    length = common_size([len(x) for x in scans], "lengths of the scan inputs")
    final, collected = scan(context, body, states, scans, length)
    for output, back in zip(collected, prepended, strict=True):
        if back:
            output.elements.reverse()
    return *final, *(x.stack(axis) for x, axis in zip(collected, out_axes, strict=True))


@op.eval(8)
def evaluate_8(
    sequence_lens: Array | None,
    *initial_state_and_scan_inputs: Array,
    body: Graph,
    num_scan_inputs: int,
    directions: Axes = None,
    context: RunContext,
) -> tuple[RuntimeValue, ...]:
    """States: [batch, ...], scan inputs: [batch, length, ...], scan outputs: [batch, length, ...].

    A batch shorter than the others is scanned up to its own length, backwards from there, and its scan outputs are
    filled up with zeros (the specification does not define them).
    """
    states, inputs = split_values(initial_state_and_scan_inputs, num_scan_inputs)
    if any(x.ndim < 1 for x in states) or any(x.ndim < 2 for x in inputs):
        raise EvaluationError(
            "states must have a batch axis, scan inputs a batch and a sequence axis; got lower ranks"
        )
    backward = flags(directions, len(inputs), "directions")
    batch = common_size([len(x) for x in (*states, *inputs)], "batch sizes")
    longest = common_size([x.shape[1] for x in inputs], "lengths of the scan inputs")
    lengths = [longest] * batch if sequence_lens is None else [int(n) for n in sequence_lens.reshape(-1)]
    if len(lengths) != batch or not all(0 <= n <= longest for n in lengths):
        raise EvaluationError(f"sequence_lens must be {batch} lengths from 0 to {longest}; got {lengths}")
    finals: list[list[RuntimeValue]] = []
    collected: list[list[ScanOutput]] = []
    for b, n in enumerate(lengths):
        rows = [x[b, :n][::-1] if back else x[b, :n] for x, back in zip(inputs, backward, strict=True)]
        final, batch_outputs = scan(context, body, [np.asarray(x[b]) for x in states], rows, n)
        finals.append(final)
        collected.append(batch_outputs)
    if not batch:
        scanned = [ScanOutput(context, value) for value in body.outputs[len(states) :]]
        set_element_types(context, body, scanned, [*slice_types(states, 1), *slice_types(inputs, 2)])
        empty = [x.stack(length=longest) for x in scanned]
        return *states, *(blank((0, *x.shape), x.dtype) for x in empty)
    final_states = [stacked_batches(context, column) for column in zip(*finals, strict=True)]
    outs = [stacked_batches(context, fill_up(column, longest)) for column in zip(*collected, strict=True)]
    return *final_states, *outs


def fill_up(column: Sequence[ScanOutput], length: int) -> list[Array]:
    """One scan output of all batches; for a batch without any slice it has the sizes that it has for the others."""
    pattern = next((x for x in column if x.elements), column[0]).stack(length=length)
    return [x.stack(length=length) if x.elements else blank(pattern.shape, pattern.dtype) for x in column]


def stacked_batches(context: RunContext, rows: Sequence[RuntimeValue]) -> Array:
    arrays = [x for x in rows if isinstance(x, np.ndarray)]
    check_result_bytes(context, (len(arrays), *arrays[0].shape), arrays[0].dtype, "Scan result")
    return np.stack(arrays)


def scan(
    context: RunContext, body: Graph, states: list[Array], scans: Sequence[Array], length: int
) -> tuple[list[RuntimeValue], list[ScanOutput]]:
    """The final states and the collected elements after `length` slices along axis 0 of `scans`."""
    if length > context.limits.iterations:
        raise LimitError(f"the inputs have {length} slices", limit="limits.iterations")
    current: list[RuntimeValue] = list(states)
    collected = [ScanOutput(context, value) for value in body.outputs[len(states) :]]
    if length:
        call = bind_body(context, body, len(states) + len(scans), len(states) + len(collected))
    else:
        set_element_types(context, body, collected, [*slice_types(states, 0), *slice_types(scans, 1)])
    for i in range(length):
        results = call([*current, *(x[i, ...] for x in scans)])
        current = results[: len(states)]
        for before, after in zip(states, current, strict=True):
            if not isinstance(after, np.ndarray) or after.shape != before.shape:
                what = f"a state must keep its shape, {list(before.shape)}, in every iteration"
                raise EvaluationError(f"{what}; got {getattr(after, 'shape', after)} in iteration {i}")
        for output, element in zip(collected, results[len(states) :], strict=True):
            output.add(element)
    return current, collected


def slice_types(values: Sequence[Array], axes: int) -> list[Type | None]:
    """The types of values without their first `axes` axes."""
    return [without_axes(tensor_type(x), axes) for x in values]


def split_values(values: Sequence[Array], count: int) -> tuple[list[Array], list[Array]]:
    if not 1 <= count <= len(values):
        raise EvaluationError(f"num_scan_inputs must be in [1, {len(values)}]; got {count}")
    return list(values[:-count]), list(values[-count:])


def entries_or_zeros(values: Axes, count: int, what: str) -> Sequence[int]:
    """One entry for each of `count` inputs or outputs; zeros by default."""
    if values is not None and len(values) != count:
        raise EvaluationError(f"{what} must have {count} entries; got {len(values)}")
    return values if values is not None else (0,) * count


def flags(values: Axes, count: int, what: str) -> list[bool]:
    entries = entries_or_zeros(values, count, what)
    if any(v not in (0, 1) for v in entries):
        raise EvaluationError(f"{what} must be 0 or 1; got {list(entries)}")
    return [v == 1 for v in entries]


def common_size(sizes: Sequence[int], what: str) -> int:
    if len(set(sizes)) > 1:
        raise EvaluationError(f"the {what} must be equal; got {list(sizes)}")
    return sizes[0]
