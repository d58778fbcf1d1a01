"""Random small models in the style of an opset: axes as attributes or inputs, broadcasting of its time."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from models import parse_model
from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, Model

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


def initializer_text(x: Array, name: str) -> str:
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
    """A model under construction: every node is run when it is added, and dropped if it fails."""

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
        name = f"v{len(self.values)}"
        self.values[name] = x
        return name

    def array(self, *shape: int, dtype: str = "f4") -> Array:
        if dtype == "i8":
            return self.numbers.integers(-5, 6, shape)
        array = self.numbers.normal(0, 2, shape).astype(dtype)
        if array.size and self.draw.random() < 0.2:
            array.reshape(-1)[0] = self.draw.choice([np.nan, np.inf, -np.inf, -0.0])
        return array

    def given(self, least: int = 0) -> str:
        """An input or an earlier result of floats with at least this rank."""
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
        name = self.name(np.asarray(x))
        if self.draw.random() < 0.5 or (self.opset < 9 and x.dtype.kind != "f"):
            self.initializers.append(name)
        else:
            self.lines.append(f"{name} = Constant<value = {initializer_text(x, '')}{literal(x)}>()")
        return name

    def axis(self, rank: int) -> int:
        axis = self.draw.randrange(rank)
        return axis - rank if self.opset >= 11 and self.draw.random() < 0.4 else axis

    def part(self, shape: Sequence[int]) -> list[int]:
        """A suffix of a shape with some sizes replaced by 1: a shape that broadcasts to it from version 7 on."""
        return [1 if self.draw.random() < 0.3 else n for n in shape[self.draw.randint(0, len(shape)) :]]

    def add(self, op_type: str, inputs: Sequence[str], attributes: str = "", outputs: int = 1) -> None:
        """Adds a node; does nothing if it cannot run."""
        names = [f"v{len(self.values) + i}" for i in range(outputs)]
        line = f"{', '.join(names)} = {op_type}{f'<{attributes}>' if attributes else ''}({', '.join(inputs)})"
        used = [n for n in dict.fromkeys(inputs) if n]
        head = ", ".join(initializer_text(self.values[n], n) for n in used)
        model = parse_model(f"g ({head}) => ({', '.join(names)}) {{ {line} }}", opset=self.opset)
        try:
            results = Interpreter(model).run({n: self.values[n] for n in used})
        except SardonyxError:
            return
        self.values.update((n, np.asarray(x)) for n, x in results.items())
        self.results += names
        self.lines.append(line)

    def model(self) -> Model:
        head = ", ".join(initializer_text(self.values[n], n) for n in self.inputs)
        kept = ", ".join(
            f"{initializer_text(self.values[n], n)} = {literal(self.values[n])}" for n in self.initializers
        )
        body = "\n".join(self.lines)
        text = f"g ({head}) => ({', '.join(self.results)}) <{kept}> {{ {body} }}".replace("<>", "")
        return parse_model(text, opset=self.opset)

    def feeds(self) -> dict[str, Array]:
        return {n: self.values[n] for n in self.inputs}


def draft_unary(draft: Draft) -> None:
    draft.add(draft.draw.choice(UNARY), [draft.given()])


def draft_binary(draft: Draft) -> None:
    x = draft.given(1)
    shape = draft.values[x].shape
    op_type = draft.draw.choice(("Add", "Sub", "Mul", "Div", "Pow", "Greater", "Less"))
    if draft.opset >= 7:
        return draft.add(op_type, [x, draft.constant(draft.array(*draft.part(shape)))])
    first = draft.draw.randrange(len(shape))
    middle = shape[first : draft.draw.randint(first + 1, len(shape))]
    return draft.add(op_type, [x, draft.constant(draft.array(*middle))], f"broadcast = 1, axis = {first}")


def draft_softmax(draft: Draft) -> None:
    x = draft.given(1)
    draft.add(
        draft.draw.choice(("Softmax", "LogSoftmax", "Hardmax")),
        [x],
        f"axis = {draft.axis(draft.values[x].ndim)}",
    )


def draft_reduction(draft: Draft) -> None:
    x, name = draft.given(1), draft.draw.choice(REDUCTIONS)
    axes = [draft.axis(draft.values[x].ndim)]
    keep = f"keepdims = {draft.draw.randint(0, 1)}"
    if draft.opset >= (13 if name == "Sum" else 18):
        draft.add(f"Reduce{name}", [x, draft.constant(np.array(axes))], keep)
    else:
        draft.add(f"Reduce{name}", [x], f"axes = {axes}, {keep}")


def draft_unsqueeze(draft: Draft) -> None:
    x = draft.given()
    axes = [draft.axis(draft.values[x].ndim + 1)]
    if draft.opset >= 13:
        draft.add("Unsqueeze", [x, draft.constant(np.array(axes))])
    else:
        draft.add("Unsqueeze", [x], f"axes = {axes}")


def draft_slice(draft: Draft) -> None:
    x = draft.given(1)
    lists = [
        [draft.draw.randint(-5, 2)],
        [draft.draw.choice((-1, 2, 1 << 62))],
        [draft.axis(draft.values[x].ndim)],
    ]
    if draft.opset >= 10:
        draft.add("Slice", [x, *(draft.constant(np.array(result)) for result in lists)])
    else:
        draft.add("Slice", [x], f"starts = {lists[0]}, ends = {lists[1]}, axes = {lists[2]}")


def draft_pad(draft: Draft) -> None:
    x = draft.given(1)
    pads = [draft.draw.randint(-1, 2) for _ in range(2 * draft.values[x].ndim)]
    mode = f'mode = "{draft.draw.choice(("constant", "reflect", "edge"))}"'
    if draft.opset >= 11:
        draft.add("Pad", [x, draft.constant(np.array(pads)), draft.constant(np.array(0.5, np.float32))], mode)
    else:
        draft.add("Pad", [x], f"{'paddings' if draft.opset < 2 else 'pads'} = {pads}, value = 0.5, {mode}")


def draft_split(draft: Draft) -> None:
    x = draft.given(1)
    axis = draft.axis(draft.values[x].ndim)
    lengths = [1, draft.values[x].shape[axis] - 1]
    if min(lengths) < 1:
        return
    if draft.opset >= 13:
        draft.add("Split", [x, draft.constant(np.array(lengths))], f"axis = {axis}", 2)
    else:
        draft.add("Split", [x], f"axis = {axis}, split = {lengths}", 2)


def draft_reshape(draft: Draft) -> None:
    x = draft.given(1)
    shape = list(draft.values[x].shape)
    draft.draw.shuffle(shape)
    shape[draft.draw.randrange(len(shape))] = -1
    if draft.opset >= 5:
        draft.add("Reshape", [x, draft.constant(np.array(shape))])
    else:
        draft.add("Reshape", [x], f"shape = {shape}")


def draft_clip(draft: Draft) -> None:
    if draft.opset >= 11:
        draft.add("Clip", [draft.given(), *(draft.constant(np.array(n, np.float32)) for n in (-1, 0.3))])
    else:
        draft.add("Clip", [draft.given()], "min = -1.0, max = 0.3")


def draft_matmul(draft: Draft) -> None:
    x = draft.given(2)
    shape = draft.values[x].shape
    if len(shape) == 2:
        c = draft.constant(draft.array(2))
        more = ", broadcast = 1" if draft.opset < 7 else ""
        draft.add("Gemm", [x, draft.constant(draft.array(2, shape[1])), c], f"transB = 1, alpha = 0.5{more}")
    else:
        draft.add("MatMul", [x, draft.constant(draft.array(shape[-1], 2))])


def draft_pool(draft: Draft) -> None:
    draft.inputs.append(draft.name(draft.array(1, 2, 5, 4)))
    border = draft.draw.choice(("pads = [1, 0, 0, 1]", 'auto_pad = "SAME_UPPER"', 'auto_pad = "SAME_LOWER"'))
    draft.add(
        draft.draw.choice(("MaxPool", "AveragePool")),
        [draft.inputs[-1]],
        f"kernel_shape = [2, 3], strides = [2, 1], {border}",
    )


def draft_top_k(draft: Draft) -> None:
    x = draft.given(1)
    axis = draft.axis(draft.values[x].ndim)
    if draft.opset >= 10:
        draft.add("TopK", [x, draft.constant(np.array([1]))], f"axis = {axis}", 2)
    else:
        draft.add("TopK", [x], f"axis = {axis}, k = 1", 2)


FORMS: tuple[Callable[[Draft], None], ...] = (
    draft_unary, draft_binary, draft_softmax, draft_reduction, draft_unsqueeze, draft_slice, draft_pad, draft_split, draft_reshape, draft_clip, draft_matmul, draft_pool, draft_top_k,
)  # fmt: skip


def draft_model(seed: int, opset: int) -> Draft:
    """A model of one to four nodes."""
    result = Draft(seed, opset)
    with np.errstate(all="ignore"):
        for _ in range(result.draw.randint(1, 4)):
            result.draw.choice(FORMS)(result)
    return result
