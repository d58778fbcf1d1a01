"""The operands of a recurrent layer, and the arguments of its kernels."""

from __future__ import annotations

from dataclasses import fields, replace

from sardonyx._src.compile.kernels.recurrent.variant import RecurrenceVariant
from sardonyx._src.compile.program import KernelArgument, TensorView
from sardonyx._src.compile.program.operands.views import slice_axis
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known

SHARED = ("lengths", "status", "is_backward")  # by the directions


@dataclass(frozen=True, slots=True)
class RecurrentOperands:
    """The tensors of a layer with its directions, all of one element type and with contiguous rows.

    input_gates: [directions, length, batch, gates * hidden], the input projections with all biases, except `hidden_bias`; or, for
    a kernel that projects: x, [directions, length, batch, input]; input_weights: [directions, size], packed; and bias:
    [directions, gates * hidden].
    weights: [directions, size], packed (`packed_weights.pack_weights`).  y: [directions, length, batch, hidden].
    h, c, last_h, last_c: [directions, batch, hidden], the states before and after; c and last_c are those of "lstm".
    hidden_bias: [directions, hidden], the recurrent bias of the hidden gate, which the reset gate of a "gru" scales.
    peepholes: [directions, 3 * hidden].  lengths: [batch] int32; with `status`, which reports those that are out of range.
    is_backward: whether the first direction is backward; a second one always is.
    """

    weights: TensorView
    y: TensorView
    h: TensorView
    last_h: TensorView
    input_gates: TensorView | None = None
    x: TensorView | None = None
    input_weights: TensorView | None = None
    bias: TensorView | None = None
    c: TensorView | None = None
    last_c: TensorView | None = None
    hidden_bias: TensorView | None = None
    peepholes: TensorView | None = None
    lengths: TensorView | None = None
    status: TensorView | None = None
    is_backward: bool = False

    def slice_directions(self, first: int, count: int) -> RecurrentOperands:
        """The operands of some of the directions."""

        parts: dict[str, TensorView] = {
            field.name: slice_axis(tensor, 0, first, count)
            for field in fields(self)
            if field.name not in SHARED and (tensor := getattr(self, field.name)) is not None
        }
        return replace(self, **parts)  # type: ignore[arg-type]  # of tensors alone


def recurrence_arguments(
    variant: RecurrenceVariant, operands: RecurrentOperands, unit_sequences: Known
) -> tuple[dict[str, TensorView], dict[str, KernelArgument]]:
    """The tensors of a layer and all arguments of its kernel, by parameter; unit_sequences: of a unit of work."""
    _, length, batch, hidden = operands.y.shape
    tensors: dict[str, TensorView] = {name: getattr(operands, name) for name in variant.operand_strides}
    strides = {
        f"{name}_{axis}_stride": tensors[name].strides[i]
        for name, axes in variant.operand_strides.items()
        for i, axis in enumerate(axes)
    }
    sizes: dict[str, KernelArgument] = {
        "length": length,
        "batch": batch,
        "hidden": hidden,
        "unit_sequences": unit_sequences,
    }
    sizes |= {"input_size": operands.x.shape[3]} if operands.x is not None else {}
    return tensors, {**tensors, **strides, **sizes, "is_backward": int(operands.is_backward)}
