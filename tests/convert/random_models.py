"""Random small models in the forms of their operator set: axes as attributes or inputs, broadcasting of its time."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from models import model
from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir.graph import Model
from sardonyx._src.ir.tensors import Array

HEADERS = {"f4": "float", "f8": "double", "i8": "int64", "b1": "bool"}
UNARY = (
    "Abs",
    "Ceil",
    "Elu",
    "Exp",
    "Floor",
    "HardSigmoid",
    "LeakyRelu",
    "Neg",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softplus",
)
REDUCTIONS = ("L1", "L2", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")


def kind(x: Array) -> str:
    return x.dtype.str[1:]


def written(x: Array, name: str) -> str:
    """The element type, shape and name of a value in text syntax."""
    return f"{HEADERS[kind(x)]}{list(x.shape) if x.ndim else ''} {name}"


def literal(x: Array) -> str:
    return (
        "{"
        + ", ".join(
            repr(e) for e in x.astype(x.dtype if x.dtype.kind == "f" else np.int64).reshape(-1).tolist()
        )
        + "}"
    )


@dataclass
class Draft:
    """A model as it grows: every node is run when it is added, so that only such as run are kept."""

    seed: int
    opset: int
    values: dict[str, Array] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    initializers: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self.numbers = np.random.default_rng(self.seed)

    def name(self, x: Array) -> str:
        found = f"v{len(self.values)}"
        self.values[found] = x
        return found

    def array(self, *shape: int, dtype: str = "f4") -> Array:
        if dtype == "i8":
            return self.numbers.integers(-5, 6, shape)
        found = self.numbers.normal(0, 2, shape).astype(dtype)
        if found.size and self.draw.random() < 0.2:
            found.reshape(-1)[0] = self.draw.choice([np.nan, np.inf, -np.inf, -0.0])
        return found

    def given(self, least: int = 0) -> str:
        """An input, or a result so far, of floats and at least this rank."""
        fits = [
            n
            for n in (*self.inputs, *self.results)
            if kind(self.values[n]) == "f4" and self.values[n].ndim >= least
        ]
        if fits and self.draw.random() < 0.7:
            return self.draw.choice(fits)
        rank = self.draw.randint(least, 4)
        sizes = [self.draw.choice((1, 2, 3, 4) if self.draw.random() < 0.95 else (0,)) for _ in range(rank)]
        self.inputs.append(self.name(self.array(*sizes)))
        return self.inputs[-1]

    def constant(self, x: Array) -> str:
        """A parameter as an initializer or a Constant."""
        found = self.name(np.asarray(x))
        if self.draw.random() < 0.5 or (self.opset < 9 and x.dtype.kind != "f"):
            self.initializers.append(found)
        else:
            self.lines.append(f"{found} = Constant<value = {written(x, '')}{literal(x)}>()")
        return found

    def axis(self, rank: int) -> int:
        axis = self.draw.randrange(rank)
        return axis - rank if self.opset >= 11 and self.draw.random() < 0.4 else axis

    def part(self, shape: Sequence[int]) -> list[int]:
        """The end of a shape, some of its sizes 1: what broadcasts to it from version 7 on."""
        return [1 if self.draw.random() < 0.3 else n for n in shape[self.draw.randint(0, len(shape)) :]]

    def add(self, op_type: str, inputs: Sequence[str], attributes: str = "", outputs: int = 1) -> None:
        """Adds a node; does nothing where it cannot run."""
        names = [f"v{len(self.values) + i}" for i in range(outputs)]
        line = f"{', '.join(names)} = {op_type}{f'<{attributes}>' if attributes else ''}({', '.join(inputs)})"
        used = [n for n in dict.fromkeys(inputs) if n]
        head = ", ".join(written(self.values[n], n) for n in used)
        one = model(f"g ({head}) => ({', '.join(names)}) {{ {line} }}", opset=self.opset)
        try:
            found = Interpreter(one).run({n: self.values[n] for n in used})
        except SardonyxError:
            return
        self.values.update((n, np.asarray(x)) for n, x in found.items())
        self.results += names
        self.lines.append(line)

    def model(self) -> Model:
        head = ", ".join(written(self.values[n], n) for n in self.inputs)
        kept = ", ".join(
            f"{written(self.values[n], n)} = {literal(self.values[n])}" for n in self.initializers
        )
        body = "\n".join(self.lines)
        text = f"g ({head}) => ({', '.join(self.results)}) <{kept}> {{ {body} }}".replace("<>", "")
        return model(text, opset=self.opset)

    def feeds(self) -> dict[str, Array]:
        return {n: self.values[n] for n in self.inputs}


def unary(d: Draft) -> None:
    d.add(d.draw.choice(UNARY), [d.given()])


def binary(d: Draft) -> None:
    x = d.given(1)
    shape = d.values[x].shape
    op_type = d.draw.choice(("Add", "Sub", "Mul", "Div", "Pow", "Greater", "Less"))
    if d.opset >= 7:
        return d.add(op_type, [x, d.constant(d.array(*d.part(shape)))])
    first = d.draw.randrange(len(shape))
    middle = shape[first : d.draw.randint(first + 1, len(shape))]
    return d.add(op_type, [x, d.constant(d.array(*middle))], f"broadcast = 1, axis = {first}")


def normalized(d: Draft) -> None:
    x = d.given(1)
    d.add(d.draw.choice(("Softmax", "LogSoftmax", "Hardmax")), [x], f"axis = {d.axis(d.values[x].ndim)}")


def reduced(d: Draft) -> None:
    x, name = d.given(1), d.draw.choice(REDUCTIONS)
    axes = [d.axis(d.values[x].ndim)]
    keep = f"keepdims = {d.draw.randint(0, 1)}"
    if d.opset >= (13 if name == "Sum" else 18):
        d.add(f"Reduce{name}", [x, d.constant(np.array(axes))], keep)
    else:
        d.add(f"Reduce{name}", [x], f"axes = {axes}, {keep}")


def unsqueezed(d: Draft) -> None:
    x = d.given()
    axes = [d.axis(d.values[x].ndim + 1)]
    if d.opset >= 13:
        d.add("Unsqueeze", [x, d.constant(np.array(axes))])
    else:
        d.add("Unsqueeze", [x], f"axes = {axes}")


def sliced(d: Draft) -> None:
    x = d.given(1)
    lists = [[d.draw.randint(-5, 2)], [d.draw.choice((-1, 2, 1 << 62))], [d.axis(d.values[x].ndim)]]
    if d.opset >= 10:
        d.add("Slice", [x, *(d.constant(np.array(found)) for found in lists)])
    else:
        d.add("Slice", [x], f"starts = {lists[0]}, ends = {lists[1]}, axes = {lists[2]}")


def padded(d: Draft) -> None:
    x = d.given(1)
    pads = [d.draw.randint(-1, 2) for _ in range(2 * d.values[x].ndim)]
    mode = f'mode = "{d.draw.choice(("constant", "reflect", "edge"))}"'
    if d.opset >= 11:
        d.add("Pad", [x, d.constant(np.array(pads)), d.constant(np.array(0.5, np.float32))], mode)
    else:
        d.add("Pad", [x], f"{'paddings' if d.opset < 2 else 'pads'} = {pads}, value = 0.5, {mode}")


def split(d: Draft) -> None:
    x = d.given(1)
    axis = d.axis(d.values[x].ndim)
    lengths = [1, d.values[x].shape[axis] - 1]
    if min(lengths) < 1:
        return
    if d.opset >= 13:
        d.add("Split", [x, d.constant(np.array(lengths))], f"axis = {axis}", 2)
    else:
        d.add("Split", [x], f"axis = {axis}, split = {lengths}", 2)


def reshaped(d: Draft) -> None:
    x = d.given(1)
    shape = list(d.values[x].shape)
    d.draw.shuffle(shape)
    shape[d.draw.randrange(len(shape))] = -1
    if d.opset >= 5:
        d.add("Reshape", [x, d.constant(np.array(shape))])
    else:
        d.add("Reshape", [x], f"shape = {shape}")


def clipped(d: Draft) -> None:
    if d.opset >= 11:
        d.add("Clip", [d.given(), *(d.constant(np.array(n, np.float32)) for n in (-1, 0.3))])
    else:
        d.add("Clip", [d.given()], "min = -1.0, max = 0.3")


def multiplied(d: Draft) -> None:
    x = d.given(2)
    shape = d.values[x].shape
    if len(shape) == 2:
        c = d.constant(d.array(2))
        more = ", broadcast = 1" if d.opset < 7 else ""
        d.add("Gemm", [x, d.constant(d.array(2, shape[1])), c], f"transB = 1, alpha = 0.5{more}")
    else:
        d.add("MatMul", [x, d.constant(d.array(shape[-1], 2))])


def pooled(d: Draft) -> None:
    d.inputs.append(d.name(d.array(1, 2, 5, 4)))
    border = d.draw.choice(("pads = [1, 0, 0, 1]", 'auto_pad = "SAME_UPPER"', 'auto_pad = "SAME_LOWER"'))
    d.add(
        d.draw.choice(("MaxPool", "AveragePool")),
        [d.inputs[-1]],
        f"kernel_shape = [2, 3], strides = [2, 1], {border}",
    )


def largest(d: Draft) -> None:
    x = d.given(1)
    axis = d.axis(d.values[x].ndim)
    if d.opset >= 10:
        d.add("TopK", [x, d.constant(np.array([1]))], f"axis = {axis}", 2)
    else:
        d.add("TopK", [x], f"axis = {axis}, k = 1", 2)


FORMS: tuple[Callable[[Draft], None], ...] = (
    unary, binary, normalized, reduced, unsqueezed, sliced, padded, split, reshaped, clipped, multiplied, pooled, largest,
)  # fmt: skip


def drafted(seed: int, opset: int) -> Draft:
    """A model of one to four nodes."""
    found = Draft(seed, opset)
    with np.errstate(all="ignore"):
        for _ in range(found.draw.randint(1, 4)):
            found.draw.choice(FORMS)(found)
    return found
