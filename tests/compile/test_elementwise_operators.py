"""Elementwise kernels match the reference kernels of their operators, on ordinary and on special numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from cases import Case, model_of
from compile import guarded
from sardonyx._src.compile.codegen.element_types import CODED_TYPES, HALF_TYPES
from sardonyx._src.compile.codegen.expressions import Local, Number, Scalar
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.elementwise.operators import SCALAR_OPERATORS, scalar_expression
from sardonyx._src.dtypes import DataType
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array
from sardonyx._src.ops.bind import attributes_of, schema_of
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import lookup

OPSET = 25
TOLERANCE = {np.dtype("f4"): (1e-5, 1e-6), np.dtype("f8"): (1e-12, 1e-15)}  # functions are a few ulp apart
SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1,
    -1,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    3,
    6,
    1e-40,
    -1e-40,
    1e-30,
    1e30,
    -1e30,
]
FLOATS = ("f4", "f8")
INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
PER_CHANNEL = {"BatchNormalization", "QuantizeLinear", "DequantizeLinear"}  # not elementwise in all inputs
CHANNEL = np.ones(1, np.float32)
# The other inputs of operators whose inputs have different types or roles.
SPECIAL_INPUTS: Mapping[str, Sequence[Array]] = {
    "BatchNormalization": [CHANNEL * 2, CHANNEL, CHANNEL * 0.5, CHANNEL * 3],
    "QuantizeLinear": [np.array(0.5, np.float32)],
    "DequantizeLinear": [np.array(0.5, np.float32)],
    "Where": [np.linspace(-1, 1, 79, dtype=np.float32), np.linspace(5, 9, 79, dtype=np.float32)],
}
Attributes = Mapping[str, object]


def sample_numbers(dtype: str, seed: int = 0) -> Array:
    """Special numbers of a type, and ordinary ones."""
    rng, np_dtype = np.random.default_rng(seed), np.dtype(dtype)
    if np_dtype.kind == "f":
        return np.concatenate([SPECIAL, rng.normal(0, 4, 60)]).astype(np_dtype)
    if np_dtype.kind == "b":
        return rng.integers(0, 2, 79).astype(np_dtype)
    info = np.iinfo(np_dtype)
    edges = [info.min, info.max, 0, 1, info.max - 1]
    return np.concatenate(
        [np.array(edges, np_dtype), rng.integers(info.min, info.max, 74, np_dtype, endpoint=True)]
    )


def sample_pairs(dtype: str) -> list[Array]:
    """Operands with every pair of special numbers, and ordinary ones."""
    x = sample_numbers(dtype)
    return [np.repeat(x, x.size), np.tile(sample_numbers(dtype, 1)[: x.size], x.size)]


def assert_matches_reference(
    op: str, inputs: Sequence[Array | None], attributes: Attributes | None = None, opset: int = OPSET
) -> None:
    """Asserts that the kernel and the reference kernel agree; inputs of rank 0 are constants of the kernel."""
    model = model_of(Case(op, opset, inputs, [...], attributes or {}))
    (node,) = model.graph.nodes
    feeds = {f"x{i}": value for i, value in enumerate(inputs) if value is not None}
    with np.errstate(all="ignore"):
        (expected,) = Interpreter(model).run(feeds).values()
    assert isinstance(expected, np.ndarray)
    result = run_kernel(op, attributes_of(node, schema_of(node, model.opset_imports), {}), inputs, expected)
    operator = find("", op)
    assert operator is not None
    rtol, atol = (0, 0) if operator.tolerance == "exact" else TOLERANCE.get(expected.dtype, (0, 0))
    np.testing.assert_allclose(result, expected, rtol, atol)


def run_kernel(op: str, attributes: Attributes, inputs: Sequence[Array | None], like: Array) -> Array:
    """The output of the kernel, with the shape and type of `like`."""
    args: list[Scalar | None] = []
    arrays: list[Array] = []
    for x in inputs:
        if x is None or x.ndim == 0:
            args.append(None if x is None else Number(x.item()))
        else:
            args.append(Local(f"i{len(arrays)}"))
            arrays.append(x)
    types = [None if x is None else DataType.of(x.dtype) for x in inputs]
    value = scalar_expression(op, attributes, args, types)
    assert value is not None, f"no kernel of {op} for {types}"
    result = np.zeros_like(like)
    tensors = [guarded.tensor(a) for a in (*arrays, result)]
    step = elementwise_step(value, [t for t, _ in tensors[:-1]], tensors[-1][0])
    guarded.run(step, {s: a for (_, s), a in zip(tensors, (*arrays, result), strict=True)})
    return result


def table_cases() -> list[tuple[str, DataType]]:
    """Every operator that kernels compute, with every element type that its first input may have; `test_minifloats` has codes."""
    return [
        (op, dtype)
        for op, operator in SCALAR_OPERATORS.items()
        for dtype in sorted(operator.types - HALF_TYPES - CODED_TYPES, key=str)
        if f"tensor({dtype.text})" in allowed_types(op)
    ]


def allowed_types(op: str) -> tuple[str, ...]:
    """The types of the first input of an operator."""
    schema = lookup("", op, OPSET)
    assert schema is not None
    return schema.allowed_types(schema.inputs[0])


def sample_inputs(op: str, dtype: DataType) -> list[Array | None]:
    """Inputs for an operator: by default all required ones (three of a variadic operator), of one type and shape."""
    x = sample_numbers(dtype.numpy.str)
    if op in SPECIAL_INPUTS:
        return [x, *SPECIAL_INPUTS[op]]
    if (op in ("Div", "Mod") and dtype.is_integer) or (op == "Pow" and dtype.is_integer):
        return [x, np.array(2, dtype.numpy)]
    schema = lookup("", op, OPSET)
    assert schema is not None
    count = 3 if schema.max_inputs is None else schema.min_inputs
    return [x, *(sample_numbers(dtype.numpy.str, seed=i) for i in range(1, count))]


@pytest.mark.parametrize(("op", "dtype"), table_cases(), ids=str)
def test_every_operator_of_the_table_matches_its_reference_kernel(op: str, dtype: DataType) -> None:
    attributes: dict[str, Attributes] = {
        "Cast": {"to": int(DataType.FLOAT)},
        "BitShift": {"direction": "LEFT"},
    }
    assert_matches_reference(op, sample_inputs(op, dtype), attributes.get(op, {}))


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_by_any_count(dtype: str, direction: str) -> None:
    x, bits = sample_numbers(dtype), np.dtype(dtype).itemsize * 8
    counts = np.array([0, 1, bits - 1, bits, bits + 1, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    pairs = [np.repeat(x, counts.size), np.tile(counts, x.size)]
    assert_matches_reference("BitShift", pairs, {"direction": direction}, opset=28)


@pytest.mark.parametrize(
    ("op", "dtype", "attributes"),
    [
        ("LeakyRelu", "f4", {"alpha": -0.5}),
        ("ThresholdedRelu", "f4", {"alpha": 0.25}),
        ("Elu", "f4", {"alpha": -2.0}),
        ("Celu", "f4", {"alpha": 0.5}),
        ("Celu", "f4", {"alpha": -1.5}),
        ("HardSigmoid", "f4", {"alpha": 0.5, "beta": 0.1}),
        ("Swish", "f4", {"alpha": 1.7}),
        ("Gelu", "f4", {"approximate": "tanh"}),
        ("IsInf", "f4", {"detect_negative": 0}),
        ("IsInf", "f4", {"detect_positive": 0}),
        ("IsInf", "f4", {"detect_positive": 0, "detect_negative": 0}),
    ],
    ids=str,
)
def test_unary_operators_apply_their_attributes(op: str, dtype: str, attributes: Attributes) -> None:
    assert_matches_reference(op, [sample_numbers(dtype)], attributes)


@pytest.mark.parametrize(
    "op", ["Add", "Sub", "Mul", "Max", "Min", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]
)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_arithmetic_and_comparisons_match_for_pairs_of_special_numbers(op: str, dtype: str) -> None:
    assert_matches_reference(op, sample_pairs(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_division_of_floats(dtype: str) -> None:
    assert_matches_reference("Div", sample_pairs(dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("divisor", [1, 2, 7, 100, -1, -7])
def test_integer_division_by_a_constant(dtype: str, divisor: int) -> None:
    if divisor < 0 and dtype.startswith("u"):
        return
    y = np.array(divisor, dtype)
    assert_matches_reference("Div", [sample_numbers(dtype), y])
    for fmod in (0, 1):
        assert_matches_reference("Mod", [sample_numbers(dtype), y], {"fmod": fmod})


@pytest.mark.parametrize("fmod", [0, 1])
def test_remainders_of_floats_are_exact(fmod: int) -> None:
    generator = np.random.default_rng(1)
    ends = [0.0, -0.0, 1.0, -3.5, 1e-45, 3.4e38, -3.4e38, 1.2e-38, np.inf, -np.inf, np.nan, 2.0**24, 0.1]
    a, b = (grid.reshape(-1).astype(np.float32) for grid in np.meshgrid(ends, ends))
    assert_matches_reference("Mod", [a, b], {"fmod": fmod})
    for spread in (2, 40, 140):
        numbers = generator.normal(size=(2, 5000)) * 2.0 ** generator.uniform(-spread, spread, (2, 5000))
        x, y = np.clip(numbers, -3e38, 3e38).astype(np.float32)
        assert_matches_reference("Mod", [x, y], {"fmod": fmod})
        multiples = np.clip(7 * y.astype(np.float64), -3e38, 3e38).astype(np.float32)
        assert_matches_reference("Mod", [multiples, y], {"fmod": fmod})


@pytest.mark.parametrize("fmod", [0, 1])
def test_remainders_of_float64_are_exact(fmod: int) -> None:
    generator = np.random.default_rng(1)
    ends = [0.0, -0.0, 1.0, -3.5, 5e-324, 1.7e308, -1.7e308, 2.2e-308, np.inf, -np.inf, np.nan, 2.0**53, 0.1]
    a, b = (grid.reshape(-1) for grid in np.meshgrid(ends, ends))
    assert_matches_reference("Mod", [a, b], {"fmod": fmod})
    for spread in (2, 60, 1000):
        numbers = generator.normal(size=(2, 2000)) * 2.0 ** generator.uniform(-spread, spread, (2, 2000))
        x, y = numbers
        assert_matches_reference("Mod", [x, y], {"fmod": fmod})
        assert_matches_reference("Mod", [7 * y, y], {"fmod": fmod})


@pytest.mark.parametrize("dtype", ["f8", "f4", *INTEGERS])
@pytest.mark.parametrize("base", ["f4", "f8"])
def test_pow_of_mixed_types(base: str, dtype: str) -> None:
    exponents = np.array(
        [0, 1, 2, 3, 5, 17, 100]
        + ([-1, -2, -7] if dtype[0] != "u" else [])
        + [0.5, -2.25] * (dtype[0] == "f")
    )
    x = sample_numbers(base)
    pairs = [np.repeat(x, exponents.size), np.tile(exponents.astype(dtype), x.size)]
    assert_matches_reference("Pow", pairs)


def test_pow_of_float64() -> None:
    x, y = sample_pairs("f8")
    assert_matches_reference("Pow", [x, y])
    draw = np.random.default_rng(4)
    x = np.concatenate([2.0 ** draw.uniform(-1070, 1023, 3000), draw.uniform(0.9, 1.1, 3000), [1 - 2.0**-53]])
    y = draw.uniform(-1, 1, x.size) * 700 / np.maximum(np.abs(np.log(x)), 1e-14)
    assert_matches_reference("Pow", [x, y])
    assert_matches_reference("Pow", [-x[:100], np.arange(100.0) - 50])


def test_division_by_a_possibly_zero_integer_is_unsupported() -> None:
    a, b = Local("i0"), Local("i1")
    for op in ("Div", "Mod"):
        assert scalar_expression(op, {"fmod": 0}, [a, b], [DataType.INT64] * 2) is None
        assert scalar_expression(op, {"fmod": 0}, [a, Number(0)], [DataType.INT64] * 2) is None


def test_pow_of_floats() -> None:
    assert_matches_reference("Pow", sample_pairs("f4"))


@pytest.mark.parametrize("power", [-1, 0.5, 1, 2, 3, 0, -2, 2.5, np.inf, np.nan])
def test_pow_with_a_constant_exponent(power: float) -> None:
    assert_matches_reference("Pow", [sample_numbers("f4"), np.array(power, np.float32)])


def test_pow_with_a_constant_exponent_of_other_types() -> None:
    assert_matches_reference("Pow", [sample_numbers("f4"), np.array(2, np.int64)])
    assert_matches_reference("Pow", [sample_numbers("f8"), np.array(0.5, np.float64)])
    assert_matches_reference("Pow", [sample_numbers("i8"), np.array(3, np.int64)])


@pytest.mark.parametrize("op", ["And", "Or", "Xor"])
def test_logical_operators(op: str) -> None:
    assert_matches_reference(op, [sample_numbers("?"), sample_numbers("?", 1)])


@pytest.mark.parametrize("op", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_bitwise_operators(op: str, dtype: str) -> None:
    assert_matches_reference(op, sample_pairs(dtype))


@pytest.mark.parametrize("op", ["Max", "Min", "Sum", "Mean"])
def test_variadic_operators(op: str) -> None:
    a, b = sample_pairs("f4")
    assert_matches_reference(op, [a, b, np.roll(a, 1)])
    assert_matches_reference(op, [a])


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_prelu_with_slopes_as_operands(dtype: str) -> None:
    assert_matches_reference("PRelu", sample_pairs(dtype))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1"])
@pytest.mark.parametrize(
    ("low", "high"), [(None, None), (0, None), (None, 3), (0, 6), (5, 2), (np.nan, 1), (0, np.nan)], ids=str
)
def test_clip_to_constant_bounds(low: float | None, high: float | None, dtype: str) -> None:
    if np.dtype(dtype).kind != "f" and not all(v is None or v == v for v in (low, high)):
        return
    limits = [None if v is None else np.array(v, dtype) for v in (low, high)]
    assert_matches_reference("Clip", [sample_numbers(dtype), *limits])


@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_clip_to_bounds_as_operands(dtype: str) -> None:
    for low, high in ((0, 6), (4, -4)):
        assert_matches_reference(
            "Clip", [sample_numbers(dtype), np.array([low], dtype), np.array([high], dtype)]
        )


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1", "?"])
def test_where(dtype: str) -> None:
    assert_matches_reference("Where", [sample_numbers("?"), sample_numbers(dtype), sample_numbers(dtype, 1)])
    assert_matches_reference("Where", [sample_numbers("?"), np.array(1, dtype), np.array(0, dtype)])


@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS, "?"])
@pytest.mark.parametrize("to", [*FLOATS, *INTEGERS, "?"])
def test_cast_between_all_types(source: str, to: str) -> None:
    if source in FLOATS and to == "u8":
        return  # unsupported, see below
    x = sample_numbers(source)
    if source in FLOATS:
        out_of_range = [
            2.0**31,
            -(2.0**31),
            2.0**32 + 300,
            -(2.0**40),
            2.0**63,
            -(2.0**63),
            1e20,
            255.9,
            -0.9,
            -129,
        ]
        x = np.concatenate([x, np.array(out_of_range, source)])
    assert_matches_reference("Cast", [x], {"to": int(DataType.of(np.dtype(to)))})


def test_batch_normalization_with_channels_innermost() -> None:
    rng = np.random.default_rng(5)
    x, scale, bias, mean = (rng.normal(size=s).astype(np.float32) for s in ((6, 20), 20, 20, 20))
    variance = rng.uniform(0.1, 2, 20).astype(np.float32)
    assert_matches_reference("BatchNormalization", [x, scale, bias, mean, variance], {"epsilon": 1e-3})


@pytest.mark.parametrize(
    ("op", "types"),
    [
        ("Sin", [DataType.DOUBLE]),
        ("Add", [DataType.FLOAT16] * 2),
        ("Pow", [DataType.INT64] * 2),
        ("Equal", [DataType.STRING] * 2),
        ("Softmax", [DataType.FLOAT]),
    ],
    ids=str,
)
def test_unsupported_types_and_operators_have_no_expression(op: str, types: list[DataType]) -> None:
    args = [Local(f"i{i}") for i in range(len(types))]
    assert scalar_expression(op, {"fmod": 1}, args, types) is None


def test_every_operator_of_the_table_is_elementwise() -> None:
    for name in SCALAR_OPERATORS:
        op = find("", name)
        assert op is not None, f"there is no operator {name}"
        assert op.elementwise or name in PER_CHANNEL, f"{name} is not elementwise"
