"""The function bodies of LSTM, GRU and RNN: a Scan over time for each direction, specialized for the inputs of one node.

Everything is computed as float, or as double if X is double, and rounded once.  A name in the text that ends with `{d}`
belongs to direction d.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.nn.recurrence import BACKWARD
from sardonyx._src.ops.nn.recurrent_activations import Activation, choose_activations, per_direction
from sardonyx._src.ops.support.body_text import element_type, promoted_type, scalar, vector


@dataclass(frozen=True, slots=True)
class WeightsText:
    """How a layer multiplies by its weights W and R.

    In the text the weights are named `w` and `r`: float, [directions, columns, rows].  Subclasses replace the products.
    hidden_axis: the axis of R whose size is that of a state.
    more_inputs: names of the function's inputs after the eight of LSTM.
    """

    hidden_axis: int = 2
    more_inputs: tuple[str, ...] = ()

    def operands(self, d: int) -> str:
        """The nodes before the Scan of a direction: `w_t{d}` and `r_t{d}`, [rows, columns]."""
        return f"""
      w_d{d} = Gather <axis = 0> (w, direction{d}) w_t{d} = Transpose <perm = [1, 0]> (w_d{d})
      r_d{d} = Gather <axis = 0> (r, direction{d}) r_t{d} = Transpose <perm = [1, 0]> (r_d{d})"""

    def input_product(self, d: int, x: str, result: str) -> str:
        """The nodes of the product of all inputs by W."""
        return f"{result} = MatMul({x}, w_t{d})"

    def state_product(self, d: int, state: str, result: str) -> str:
        """The nodes of the product of a state by R, in the Scan."""
        return f"{result} = MatMul({state}, r_t{d})"


FLOAT_WEIGHTS = WeightsText()


@dataclass(frozen=True, slots=True)
class CellText:
    """The properties of one direction of a layer on which its body depends.

    inference: the inference context of the node.
    dtype: the element type of the computation.
    d: the number of the direction, with which all its names end.
    activations: the activations of this direction.
    weights: the text of the products with W and R.
    """

    inference: Inference
    dtype: DataType
    d: int
    activations: Sequence[Activation]
    weights: WeightsText

    def activation(self, i: int, x: str, y: str, *, clips: bool = True) -> str:
        """The nodes of y = activation i of x; with `clips`, the attribute `clip` of the node limits x before."""
        clip = self.inference.attributes.get("clip")
        if not isinstance(clip, float) or not clips:
            return activation_text(self.activations[i], x, y, self.dtype)
        low, high = scalar(-clip, self.dtype), scalar(clip, self.dtype)
        clipped = f"{y}_low = {low} {y}_high = {high} {y}_clipped = Clip({x}, {y}_low, {y}_high)"
        return f"{clipped} {activation_text(self.activations[i], f'{y}_clipped', y, self.dtype)}"


UNSCALED_OPERATORS = {
    "relu": "Relu",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "softsign": "Softsign",
    "softplus": "Softplus",
}
SCALED_OPERATORS = {
    "leakyrelu": "LeakyRelu <alpha = {alpha!r}>",
    "elu": "Elu <alpha = {alpha!r}>",
    "hardsigmoid": "HardSigmoid <alpha = {alpha!r}, beta = {beta!r}>",
}


def activation_text(activation: Activation, x: str, y: str, dtype: DataType) -> str:
    """The nodes of y = activation of x."""
    name, alpha, beta = activation.name, activation.alpha, activation.beta
    if name in UNSCALED_OPERATORS:
        return f"{y} = {UNSCALED_OPERATORS[name]}({x}) "
    if name in SCALED_OPERATORS:
        return f"{y} = {SCALED_OPERATORS[name].format(alpha=alpha, beta=beta)} ({x}) "
    first = f"{y}_alpha = {scalar(alpha, dtype)} "
    if name == "thresholdedrelu":
        return (
            f"{first} {y}_above = GreaterOrEqual({x}, {y}_alpha) {y}_zero = {scalar(0.0, dtype)} "
            f"{y} = Where({y}_above, {x}, {y}_zero) "
        )
    both = f"{first} {y}_beta = {scalar(beta, dtype)} "
    if name == "affine":
        return f"{both} {y}_scaled = Mul({y}_alpha, {x}) {y} = Add({y}_scaled, {y}_beta) "
    return (
        f"{both} {y}_scaled = Mul({y}_beta, {x}) {y}_tanh = Tanh({y}_scaled) {y} = Mul({y}_alpha, {y}_tanh) "
    )


# The nodes of one direction before its Scan, and those of the Scan's body, a step: from p_in, the projected input of the
# step, and the states h_in and c_in before it, to the states h_new and c_new after it, each with the direction's number.
CellBody = Callable[[CellText], tuple[str, str]]


def recurrent_body(
    inference: Inference,
    default: Sequence[str],
    cell: CellBody,
    states: str,
    weights: WeightsText = FLOAT_WEIGHTS,
) -> str:
    """The text of the function, in opset 18 of the default domain; states: "h", or "hc" with a cell state."""
    dtype = promoted_type(element_type(inference))
    backward = BACKWARD[str(inference.attributes["direction"])]
    activations = activations_of(inference, default, len(backward))
    count = len(default)
    texts = [
        CellText(inference, dtype, d, activations[count * d : count * (d + 1)], weights)
        for d in range(len(backward))
    ]
    directions = "".join(
        direction_text(text, is_backward, cell, states)
        for text, is_backward in zip(texts, backward, strict=True)
    )
    names = ("Y", "Y_h", "Y_c")[: inference.outputs]
    results = "".join(result_text(inference, name, len(backward)) for name in names)
    formals = ", ".join(("X", "W", "R", "B", "lens", "h_first", "c_first", "P", *weights.more_inputs))
    return f"""({formals}) => ({", ".join(names)}) {{
      {operands_text(inference, dtype)} {sizes_text(inference, states, weights)} {directions} {results}
    }}"""


def activations_of(inference: Inference, default: Sequence[str], directions: int) -> list[Activation]:
    """The activations of all directions."""
    a = inference.attributes
    names, alpha, beta = (a.get(name) for name in ("activations", "activation_alpha", "activation_beta"))
    try:
        chosen = per_direction(names if isinstance(names, tuple) else None, default, directions)
        scales = (alpha if isinstance(alpha, tuple) else (), beta if isinstance(beta, tuple) else ())
        return choose_activations(chosen, *scales)
    except EvaluationError as error:
        inference.fail(error.why)


def operands_text(inference: Inference, dtype: DataType) -> str:
    """The nodes of the operands in the element type of the computation, with time first: x: [length, batch, input]."""
    names = (
        ("X", "x"),
        ("W", "w"),
        ("R", "r"),
        ("B", "b"),
        ("h_first", "h_given"),
        ("c_first", "c_given"),
        ("P", "p"),
    )
    positions = (0, 1, 2, 3, 5, 6, 7)
    text = ""
    for (name, result), i in zip(names, positions, strict=True):
        if inference.has(i):
            is_swapped = i in (0, 5, 6) and inference.integer("layout", 0)
            source = f"{name}_swapped" if is_swapped else name
            text += f"{source} = Transpose <perm = [1, 0, 2]> ({name}) " if is_swapped else ""
            text += f"{result} = Cast <to = {int(dtype)}> ({source}) "
    if inference.has(4):
        text += f"lengths = Cast <to = {int(DataType.INT64)}> (lens) start = Constant <value_int = 0> () "
    return text


def sizes_text(inference: Inference, states: str, weights: WeightsText) -> str:
    """The nodes of `all_sizes`, the shape of a direction's outputs, and `size`, that of an omitted initial state."""
    has_all = all(inference.has(5 if state == "h" else 6) for state in states)
    return f"""
      length = Shape <start = 0, end = 1> (x)
      batch = Shape <start = 1, end = 2> (x)
      hidden = Shape <start = {weights.hidden_axis}, end = {weights.hidden_axis + 1}> (r)
      all_sizes = Concat <axis = 0> (length, batch, hidden)
      {"" if has_all else "size = Concat <axis = 0> (batch, hidden)"}"""


def direction_text(text: CellText, is_backward: bool, cell: CellBody, states: str) -> str:
    """The nodes of direction d: y{d}: [length, batch, hidden], and the final states h{d} and c{d}: [batch, hidden].

    A Scan without steps does not know the sizes of its output, hence the Reshape.
    """
    d, inference = text.d, text.inference
    outside, inside = cell(text)
    has_lengths = inference.has(4)
    reversed_by_length = is_backward and has_lengths
    x = f"x{d}" if reversed_by_length else "x"
    reverse = "ReverseSequence <time_axis = 0, batch_axis = 1>"
    directions = (
        ", scan_input_directions = [1], scan_output_directions = [1]"
        if is_backward and not has_lengths
        else ""
    )
    carried = [*states, *(["t"] if has_lengths else [])]
    initial = [initial_text(text, state) for state in states]
    formals = ", ".join(f"{state}_in{d}" for state in carried)
    finals = ", ".join(f"{state}_out{d}" for state in carried)
    results = ", ".join([*(f"{state}{d}" for state in carried), f"y_scan{d}"])
    starts = ", ".join([*(f"{state}_start{d}" for state in states), *(["start"] if has_lengths else [])])
    return f"""
      direction{d} = Constant <value_int = {d}> ()
      {text.weights.operands(d)}
      {"".join(initial)}
      {f"{x} = {reverse} (x, lengths)" if reversed_by_length else ""}
      {text.weights.input_product(d, x, f"product{d}")}
      {outside}
      {results} = Scan ({starts}, projected{d}) <
        num_scan_inputs = 1{directions},
        body = step{d} ({formals}, p_in{d}) => ({finals}, {text.dtype.text}[B,H] y_out{d}) {{
          {inside}
          {masked_text(d, states) if has_lengths else unmasked_text(d, states)}
        }}
      >
      {f"y_time{d} = {reverse} (y_scan{d}, lengths)" if reversed_by_length else ""}
      y{d} = Reshape <allowzero = 1> ({"y_time" if reversed_by_length else "y_scan"}{d}, all_sizes)"""


def bias_text(cell: CellText) -> str:
    """The nodes of the projected input: the product with the sum of both biases."""
    d = cell.d
    if not cell.inference.has(3):
        return f"projected{d} = Identity(product{d}) "
    return f"""
      b_d{d} = Gather <axis = 0> (b, direction{d})
      wb{d}, rb{d} = Split <axis = 0, num_outputs = 2> (b_d{d})
      bias{d} = Add(wb{d}, rb{d})
      projected{d} = Add(product{d}, bias{d}) """


def initial_text(text: CellText, state: str) -> str:
    """The initial state of one direction: [batch, hidden]."""
    d, has_input = text.d, text.inference.has(5 if state == "h" else 6)
    if has_input:
        return f"{state}_start{d} = Gather <axis = 0> ({state}_given, direction{d}) "
    return f"{state}_start{d} = ConstantOfShape <value = {text.dtype.text}[1] raw_data: {{0.0}}> (size) "


def unmasked_text(d: int, states: str) -> str:
    """The states after a step, and the output."""
    kept = "".join(f"{state}_out{d} = Identity({state}_new{d}) " for state in states)
    return f"{kept} y_out{d} = Identity(h_new{d})"


def masked_text(d: int, states: str) -> str:
    """The states after a step, and the output: after the end of a sequence, the states stay and the output is 0."""
    kept = "".join(f"{state}_out{d} = Where(active{d}, {state}_new{d}, {state}_in{d}) " for state in states)
    return f"""unit{d} = Constant <value_int = 1> () t_out{d} = Add(t_in{d}, unit{d})
          within{d} = Less(t_in{d}, lengths) last{d} = {vector([1])} active{d} = Unsqueeze(within{d}, last{d})
          {kept} zero{d} = Sub(h_new{d}, h_new{d}) y_out{d} = Where(active{d}, h_new{d}, zero{d})"""


def result_text(inference: Inference, name: str, directions: int) -> str:
    """An output: the directions stacked, in the layout and type of the call."""
    part, axis = {"Y": ("y", 1), "Y_h": ("h", 0), "Y_c": ("c", 0)}[name]
    stacked = "".join(f"{name}_{d} = Unsqueeze({part}{d}, {name}_axis) " for d in range(directions))
    parts = ", ".join(f"{name}_{d}" for d in range(directions))
    perm = "[2, 0, 1, 3]" if name == "Y" else "[1, 0, 2]"
    text = f"{name}_axis = {vector([axis])} {stacked} {name}_wide = Concat <axis = {axis}> ({parts}) "
    source = f"{name}_wide"
    if inference.integer("layout", 0):
        text += f"{name}_moved = Transpose <perm = {perm}> ({source}) "
        source = f"{name}_moved"
    return f"{text} {name} = Cast <to = {int(element_type(inference))}> ({source}) "
