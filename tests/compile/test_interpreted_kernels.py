"""The interpreter has the bits of the compiled kernels that it replaces, for every instruction and access pattern."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from compile import guarded
from compile.library_kernels import interpreter_objects
from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Number, Scalar, Select
from sardonyx._src.compile.kernels.elementwise.descriptor import describe
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.elementwise.interpreter_instructions import (
    MAX_SLOTS,
    MAX_TENSORS,
    instructions,
)
from sardonyx._src.compile.kernels.elementwise.variant import (
    ElementwiseOperand,
    ElementwiseVariant,
    parse_key,
)
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.compile.llvm.interpreted_code import fill_template, module_names
from sardonyx._src.compile.llvm.jit import Library, host_target
from sardonyx._src.compile.program import Kernel, Step, TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Expr

pytestmark = pytest.mark.skipif(
    saved_program_machine() is None, reason="our own linker links the interpreter"
)
FLOAT, BOOL = DataType.FLOAT, DataType.BOOL
X, Y, Z = (Local(f"i{i}") for i in range(3))
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-40, -1e-40, 3e38, -3e38, np.inf, -np.inf, np.nan)


def apply(op: str, *args: Scalar) -> Apply:
    return Apply(op, args)


def interpreted(kernel: Kernel) -> Library:
    assert kernel.describe is not None, "it is elementwise"
    words = kernel.describe()
    assert words is not None, f"the interpreter lacks a part of {kernel.key}"
    interpreter, template = (interpreter_objects()[name] for name in module_names("elementwise"))
    symbol = f"sx_{'1' * 24}"
    return Library([interpreter, fill_template(template, words, symbol)], [symbol])


def known(size: int | Expr) -> int:
    assert isinstance(size, int), "all sizes of these steps are numbers"
    return size


def run(code: Library, step: Step, arrays: dict[int, Array], *, at_end: bool, chunk: int) -> dict[int, bytes]:
    """The content of all buffers after a run between guard pages, `chunk` units a call."""
    memory = {key: guarded.GuardedMemory(array.nbytes, at_end=at_end) for key, array in arrays.items()}
    for key, array in arrays.items():
        memory[key].bytes[:] = np.frombuffer(array.tobytes(), np.uint8)
    args = [
        memory[id(a.buffer)].address + known(a.offset) * a.dtype.numpy.itemsize
        if isinstance(a, TensorView)
        else a
        for a in step.args
    ]
    slots = np.array(args, np.int64)
    (address,) = code.addresses.values()
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(address)
    for first in range(0, known(step.units), chunk):
        call(slots.ctypes.data, first, min(first + chunk, known(step.units)), None)
    return {key: range_.bytes.tobytes() for key, range_ in memory.items()}


def assert_same_bits(step: Step, arrays: Sequence[tuple[TensorView, Array]]) -> None:
    by_buffer = {id(tensor.buffer): array for tensor, array in arrays}
    compiled = guarded.load_kernel(step.kernel, host_target())
    expected = run(compiled, step, by_buffer, at_end=True, chunk=1)
    code = interpreted(step.kernel)
    for at_end, chunk in ((True, 1), (False, 3)):
        actual = run(code, step, by_buffer, at_end=at_end, chunk=chunk)
        for tensor, array in arrays:
            a, b = (np.frombuffer(x[id(tensor.buffer)], array.dtype) for x in (actual, expected))
            is_nan = a != a
            assert np.array_equal(is_nan, b != b), step.kernel.key
            assert a[~is_nan].tobytes() == b[~is_nan].tobytes(), step.kernel.key


def draw(dtype: DataType, shape: tuple[int, ...], seed: int) -> Array:
    """Numbers of an element type; special ones among floats."""
    random = np.random.default_rng(seed)
    if dtype is BOOL:
        return random.integers(0, 2, shape).astype(np.bool_)
    if dtype.is_integer:
        return random.integers(-9, 9, shape).astype(dtype.numpy)
    numbers = random.normal(scale=3, size=shape).astype(np.float32)
    numbers.reshape(-1)[: len(SPECIAL)] = random.permutation(SPECIAL)[: numbers.size]
    with np.errstate(over="ignore"):
        return numbers.astype(dtype.numpy)


def operations() -> Iterator[tuple[str, tuple[ElementwiseVariant, ...]]]:
    """The variants of the instructions that compute, up to four of the same operands at a time."""
    groups: dict[tuple[ElementwiseOperand, ...], list[ElementwiseVariant]] = {}
    for name, variant in instructions():
        if not name.startswith(("load", "store")):
            groups.setdefault(variant.inputs, []).append(variant)
    for inputs, variants in groups.items():
        for i in range(0, len(variants), 4):
            yield f"{','.join(o.dtype.text for o in inputs)} {i}", tuple(variants[i : i + 4])


GROUPS = dict(operations())


@pytest.mark.parametrize("name", GROUPS)
def test_an_instruction_has_the_bits_of_a_compiled_kernel(name: str) -> None:
    variants = GROUPS[name]
    inputs = [draw(o.dtype, (3, 301), seed=i) for i, o in enumerate(variants[0].inputs)]
    outputs = [np.zeros((3, 301), v.outputs[0].dtype.numpy) for v in variants]
    tensors = [guarded.tensor(a)[0] for a in (*inputs, *outputs)]
    step = elementwise_step([v.values[0] for v in variants], tensors[: len(inputs)], tensors[len(inputs) :])
    assert_same_bits(step, list(zip(tensors, (*inputs, *outputs), strict=True)))


SILU = apply("mul", X, apply("sigmoid", X))
EXPRESSIONS: dict[str, tuple[Scalar, ...]] = {
    "sum": (apply("add", X, Y),),
    "constants": (apply("add", apply("mul", X, Number(0.3)), Number(-0.0)), apply("sub", Number(1.0), Y)),
    "limits": (apply("max", X, Number(0.0)), apply("min", Number(-0.0), Y), apply("max", X, Y)),
    "clamp": (apply("clamp", X, Number(-1.0), Number(1)),),
    "select": (Select("lt", X, Y, SILU, apply("mul", SILU, Number(0.1))),),
    "select of another type": (Select("eq", X, Y, Cast(DataType.INT32, X), Number(7)),),
    "where": (apply("where", apply("le", X, Y), SILU, Number(2.0)),),
    "condition": (apply("and", apply("lt", X, Number(0)), apply("not", apply("isnan", Y))),),
    "half": (Cast(FLOAT, Cast(DataType.FLOAT16, apply("add", X, Y))),),
    "byte": (Cast(DataType.UINT8, apply("clamp", apply("round", X), Number(0), Number(255))),),
    "input": (X, apply("exp", Y)),
}
SHAPES = [
    ((), (), ()),
    ((0, 4), (0, 4), (4,)),
    ((1,), (1,), (1,)),
    ((700,), (700,), (1,)),
    ((5, 3), (5, 3), (5, 1)),
    ((40, 8), (40, 8), (8,)),
    ((3, 300), (3, 300), (1, 1)),
    ((2, 3, 4, 5), (2, 1, 4, 5), (3, 1, 1)),
    ((9000,), (9000,), (9000,)),
    ((3, 5000), (3, 5000), (5000,)),
]


# All expressions with two shapes, and two expressions with all shapes.
EXAMPLES = [
    (name, shapes)
    for name in EXPRESSIONS
    for shapes in SHAPES
    if name in ("sum", "select") or shapes in (SHAPES[3], SHAPES[7])
]


@pytest.mark.parametrize(("name", "shapes"), EXAMPLES, ids=str)
def test_an_expression_has_the_bits_of_a_compiled_kernel(
    name: str, shapes: tuple[tuple[int, ...], ...]
) -> None:
    shape, *operand_shapes = shapes
    arrays = [draw(FLOAT, dims, seed=i) for i, dims in enumerate(operand_shapes)]
    values = EXPRESSIONS[name]
    outputs = [np.zeros(shape, result_dtype(value).numpy) for value in values]
    pairs = [(guarded.tensor(a)[0], a) for a in (*arrays, *outputs)]
    tensors = [tensor for tensor, _ in pairs]
    assert_same_bits(elementwise_step(values, tensors[:2], tensors[2:]), pairs)


def result_dtype(value: Scalar) -> DataType:
    if isinstance(value, Cast):
        return value.dtype
    if isinstance(value, Select) and isinstance(value.then, Cast):
        return value.then.dtype
    return BOOL if isinstance(value, Apply) and value.op in ("and", "lt") else FLOAT


@pytest.mark.parametrize("dtype", [FLOAT, BOOL, DataType.FLOAT16, DataType.INT64, DataType.UINT8])
def test_strided_tensors(dtype: DataType) -> None:
    """Elements that are apart, in rows that are part of longer ones."""
    x, y = draw(dtype, (6, 40), 0), np.zeros((6, 40), dtype.numpy)
    (source, _), (result, _) = guarded.tensor(x), guarded.tensor(y)
    views = [TensorView(t.dtype, (3, 20), (80, 2), t.buffer, 1) for t in (source, result)]
    assert_same_bits(elementwise_step(X, views[:1], views[1]), [(source, x), (result, y)])


def test_an_output_may_be_an_input() -> None:
    x, y = draw(FLOAT, (4, 600), 0), draw(FLOAT, (4, 600), 1)
    (first, _), (second, _) = guarded.tensor(x), guarded.tensor(y)
    values = (apply("add", X, Y), apply("sub", X, Y))
    step = elementwise_step(values, [first, second], [first, second])
    assert_same_bits(step, [(first, x), (second, y)])


def test_what_the_interpreter_lacks() -> None:
    """Arithmetic of unsigned bytes, and expressions whose blocks do not fit in its stack frame."""
    byte = ElementwiseOperand(DataType.UINT8, "next")
    assert describe(ElementwiseVariant((apply("add", X, Y),), (byte,), (byte, byte), 0)) is None
    operand = ElementwiseOperand(FLOAT, "next")
    locals_ = [Local(f"i{i}") for i in range(MAX_SLOTS)]
    total: Scalar = locals_[0]
    for local in locals_[1:]:
        total = apply("add", total, local)
    long = ElementwiseVariant((total,), (operand,), (operand,) * MAX_SLOTS, 0)
    assert describe(long) is None


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_key_determines_its_variant(name: str) -> None:
    operand = ElementwiseOperand(FLOAT, "next")
    outputs = tuple(ElementwiseOperand(result_dtype(v), "far") for v in EXPRESSIONS[name])
    variant = ElementwiseVariant(EXPRESSIONS[name], outputs, (operand, ElementwiseOperand(FLOAT, "same")), 2)
    parsed = parse_key(variant.key)
    assert parsed.key == variant.key
    assert describe(parsed) == describe(variant)


def test_expressions_of_too_many_tensors_are_not_interpreted() -> None:
    """Their addresses have no room in the stack frame; equal operands would need few blocks."""
    operand = ElementwiseOperand(FLOAT, "next")
    value = apply("add", X, Y)
    assert describe(ElementwiseVariant((value,), (operand,), (operand,) * (MAX_TENSORS - 1), 0)) is not None
    assert describe(ElementwiseVariant((value,), (operand,), (operand,) * MAX_TENSORS, 0)) is None
