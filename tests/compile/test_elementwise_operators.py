"""Elementwise operators compute in kernels what their reference kernels do, on ordinary and on special numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from cases import Case, model_of
from compile import guarded
from sardonyx._src.compile.elementwise.arithmetic import normalization_columns
from sardonyx._src.compile.elementwise.kernel import elementwise
from sardonyx._src.compile.elementwise.operators import SCALARS, scalar
from sardonyx._src.compile.loops.ir import Local, Number, Scalar
from sardonyx._src.dtypes import DataType
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.bind import attributes_of, schema_of
from sardonyx._src.ops.registry import find

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
SIGNED = ("i1", "i2", "i4", "i8")
NOT_ALONE = {"BatchNormalization", "QuantizeLinear", "DequantizeLinear"}  # of each channel, too
Attributes = Mapping[str, object]


def numbers(dtype: str, seed: int = 0) -> Array:
    """Special numbers of the type, and ordinary ones."""
    draw, kind = np.random.default_rng(seed), np.dtype(dtype)
    if kind.kind == "f":
        return np.concatenate([SPECIAL, draw.normal(0, 4, 60)]).astype(kind)
    if kind.kind == "b":
        return draw.integers(0, 2, 79).astype(kind)
    info = np.iinfo(kind)
    edges = [info.min, info.max, 0, 1, info.max - 1]
    return np.concatenate([np.array(edges, kind), draw.integers(info.min, info.max, 74, kind, endpoint=True)])


def pairs(dtype: str) -> list[Array]:
    """Every special number beside every other one, and ordinary ones."""
    x = numbers(dtype)
    return [np.repeat(x, x.size), np.tile(numbers(dtype, 1)[: x.size], x.size)]


def check(op: str, inputs: Sequence[Array | None], attributes: Attributes | None = None) -> None:
    """Asserts that the kernel computes what the reference does; inputs of rank 0 are given as known numbers."""
    model = model_of(Case(op, OPSET, inputs, [...], attributes or {}))
    (node,) = model.graph.nodes
    feeds = {f"x{i}": value for i, value in enumerate(inputs) if value is not None}
    with np.errstate(all="ignore"):
        (want,) = Interpreter(model).run(feeds).values()
    assert isinstance(want, np.ndarray)
    found = computed(op, attributes_of(node, schema_of(node, model.opset_imports), {}), inputs, want)
    operator = find("", op)
    assert operator is not None
    rtol, atol = (0, 0) if operator.tolerance == "exact" else TOLERANCE.get(want.dtype, (0, 0))
    np.testing.assert_allclose(found, want, rtol, atol)


def computed(op: str, attributes: Attributes, inputs: Sequence[Array | None], like: Array) -> Array:
    """What the kernel computes."""
    args: list[Scalar | None] = []
    arrays: list[Array] = []
    for x in inputs:
        if x is None or x.ndim == 0:
            args.append(None if x is None else Number(x.item()))
        else:
            args.append(Local(f"i{len(arrays)}"))
            arrays.append(x)
    types = [None if x is None else DataType.of(x.dtype) for x in inputs]
    value = scalar(op, attributes, args, types)
    assert value is not None, f"no kernel of {op} for {types}"
    found = np.zeros_like(like)
    tensors = [guarded.tensor(a) for a in (*arrays, found)]
    step = elementwise(value, [t for t, _ in tensors[:-1]], tensors[-1][0])
    guarded.run(step, {s: a for (_, s), a in zip(tensors, (*arrays, found), strict=True)})
    return found


def of(op: str, *types: str, **attributes: object) -> list[tuple[str, str, Attributes]]:
    return [(op, dtype, attributes) for dtype in types]


@pytest.mark.parametrize(
    ("op", "dtype", "attributes"),
    [
        *of("Abs", *FLOATS, *INTEGERS),
        *of("Neg", *FLOATS, *SIGNED),
        *of("Sign", *FLOATS, *INTEGERS),
        *(
            case
            for op in ("Sqrt", "Reciprocal", "Floor", "Ceil", "Round", "IsNaN")
            for case in of(op, *FLOATS)
        ),
        *(case for op in ("Exp", "Log", "Sin", "Cos", "Tanh", "Erf", "Sigmoid") for case in of(op, "f4")),
        *(case for op in ("Softplus", "Mish", "HardSwish") for case in of(op, "f4")),
        *of("Softsign", *FLOATS),
        *of("Relu", *FLOATS, *SIGNED),
        *of("LeakyRelu", *FLOATS),
        *of("LeakyRelu", "f4", alpha=-0.5),
        *of("ThresholdedRelu", *FLOATS),
        *of("ThresholdedRelu", "f4", alpha=0.25),
        *of("Elu", "f4"),
        *of("Elu", "f4", alpha=-2.0),
        *of("Celu", "f4"),
        *of("Celu", "f4", alpha=0.5),
        *of("Celu", "f4", alpha=-1.5),
        *of("Selu", "f4"),
        *of("HardSigmoid", *FLOATS),
        *of("HardSigmoid", "f4", alpha=0.5, beta=0.1),
        *of("HardSwish", "f8"),
        *of("Swish", "f4"),
        *of("Swish", "f4", alpha=1.7),
        *of("Gelu", "f4"),
        *of("Gelu", "f4", approximate="tanh"),
        *of("IsInf", *FLOATS),
        *of("IsInf", "f4", detect_negative=0),
        *of("IsInf", "f4", detect_positive=0),
        *of("IsInf", "f4", detect_positive=0, detect_negative=0),
        *of("Not", "?"),
        *of("BitwiseNot", *INTEGERS),
        *of("Identity", "f4", "i8", "?"),
    ],
    ids=str,
)
def test_operators_of_one_tensor(op: str, dtype: str, attributes: Attributes) -> None:
    check(op, [numbers(dtype)], attributes)


@pytest.mark.parametrize(
    "op", ["Add", "Sub", "Mul", "Max", "Min", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]
)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_arithmetic_and_comparisons(op: str, dtype: str) -> None:
    check(op, pairs(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_quotients_of_floats(dtype: str) -> None:
    check("Div", pairs(dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("divisor", [1, 2, 7, 100, -1, -7])
def test_integers_are_divided_by_known_numbers(dtype: str, divisor: int) -> None:
    if divisor < 0 and dtype.startswith("u"):
        return
    y = np.array(divisor, dtype)
    check("Div", [numbers(dtype), y])
    for fmod in (0, 1):
        check("Mod", [numbers(dtype), y], {"fmod": fmod})


@pytest.mark.parametrize("fmod", [0, 1])
def test_what_floats_leave_over_is_exact(fmod: int) -> None:
    generator = np.random.default_rng(1)
    ends = [0.0, -0.0, 1.0, -3.5, 1e-45, 3.4e38, -3.4e38, 1.2e-38, np.inf, -np.inf, np.nan, 2.0**24, 0.1]
    a, b = (one.reshape(-1).astype(np.float32) for one in np.meshgrid(ends, ends))
    check("Mod", [a, b], {"fmod": fmod})
    for spread in (2, 40, 140):
        drawn = generator.normal(size=(2, 5000)) * 2.0 ** generator.uniform(-spread, spread, (2, 5000))
        x, y = np.clip(drawn, -3e38, 3e38).astype(np.float32)
        check("Mod", [x, y], {"fmod": fmod})
        near = np.clip(7 * y.astype(np.float64), -3e38, 3e38).astype(np.float32)
        check("Mod", [near, y], {"fmod": fmod})


def test_a_division_by_what_may_be_zero_is_no_kernel() -> None:
    a, b = Local("i0"), Local("i1")
    for op in ("Div", "Mod"):
        assert scalar(op, {"fmod": 0}, [a, b], [DataType.INT64] * 2) is None
        assert scalar(op, {"fmod": 0}, [a, Number(0)], [DataType.INT64] * 2) is None


def test_powers() -> None:
    check("Pow", pairs("f4"))


@pytest.mark.parametrize("power", [-1, 0.5, 1, 2, 3, 0, -2, 2.5, np.inf, np.nan])
def test_known_powers(power: float) -> None:
    check("Pow", [numbers("f4"), np.array(power, np.float32)])


def test_known_powers_of_other_types() -> None:
    check("Pow", [numbers("f4"), np.array(2, np.int64)])
    check("Pow", [numbers("f8"), np.array(0.5, np.float64)])
    check("Pow", [numbers("i8"), np.array(3, np.int64)])


@pytest.mark.parametrize("op", ["And", "Or", "Xor"])
def test_logic(op: str) -> None:
    check(op, [numbers("?"), numbers("?", 1)])


@pytest.mark.parametrize("op", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_logic_of_bits(op: str, dtype: str) -> None:
    check(op, pairs(dtype))


@pytest.mark.parametrize("op", ["Max", "Min", "Sum", "Mean"])
def test_operators_of_many_tensors(op: str) -> None:
    a, b = pairs("f4")
    check(op, [a, b, np.roll(a, 1)])
    check(op, [a])


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_slopes(dtype: str) -> None:
    check("PRelu", pairs(dtype))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1"])
@pytest.mark.parametrize(
    ("low", "high"), [(None, None), (0, None), (None, 3), (0, 6), (5, 2), (np.nan, 1), (0, np.nan)], ids=str
)
def test_limits_known_beforehand(low: float | None, high: float | None, dtype: str) -> None:
    if np.dtype(dtype).kind != "f" and not all(v is None or v == v for v in (low, high)):
        return
    limits = [None if v is None else np.array(v, dtype) for v in (low, high)]
    check("Clip", [numbers(dtype), *limits])


@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_limits_as_operands(dtype: str) -> None:
    for low, high in ((0, 6), (4, -4)):
        check("Clip", [numbers(dtype), np.array([low], dtype), np.array([high], dtype)])


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1", "?"])
def test_choices(dtype: str) -> None:
    check("Where", [numbers("?"), numbers(dtype), numbers(dtype, 1)])
    check("Where", [numbers("?"), np.array(1, dtype), np.array(0, dtype)])


@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS, "?"])
@pytest.mark.parametrize("to", [*FLOATS, *INTEGERS, "?"])
def test_casts(source: str, to: str) -> None:
    if source in FLOATS and to == "u8":
        return  # refused, see below
    x = numbers(source)
    if source in FLOATS:
        far = [2.0**31, -(2.0**31), 2.0**32 + 300, -(2.0**40), 2.0**63, -(2.0**63), 1e20, 255.9, -0.9, -129]
        x = np.concatenate([x, np.array(far, source)])
    check("Cast", [x], {"to": int(DataType.of(np.dtype(to)))})


def test_batch_normalization_of_channels_innermost() -> None:
    draw = np.random.default_rng(5)
    x, scale, bias, mean = (draw.normal(size=s).astype(np.float32) for s in ((6, 20), 20, 20, 20))
    variance = draw.uniform(0.1, 2, 20).astype(np.float32)
    check("BatchNormalization", [x, scale, bias, mean, variance], {"epsilon": 1e-3})
    factor, addend = normalization_columns(scale, bias, mean, variance, 1e-3)
    wide = (a.astype(np.float64) for a in (x, scale, bias, mean, variance))
    x64, s64, b64, m64, v64 = wide
    want = (x64 - m64) / np.sqrt(v64 + 1e-3) * s64 + b64
    found = computed("BatchNormalization", {}, [x, factor, addend], x)
    np.testing.assert_allclose(found, want, 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("op", "types"),
    [
        ("Exp", [DataType.DOUBLE]),
        ("Add", [DataType.FLOAT16] * 2),
        ("Mod", [DataType.DOUBLE] * 2),
        ("Pow", [DataType.DOUBLE] * 2),
        ("Equal", [DataType.STRING] * 2),
        ("Softmax", [DataType.FLOAT]),
    ],
    ids=str,
)
def test_what_kernels_do_not_know_is_left_to_the_host(op: str, types: list[DataType]) -> None:
    args = [Local(f"i{i}") for i in range(len(types))]
    assert scalar(op, {"fmod": 1}, args, types) is None


def test_floats_to_the_longest_naturals_are_left_to_the_host() -> None:
    to = {"to": int(DataType.UINT64)}
    assert scalar("Cast", to, [Local("i0")], [DataType.FLOAT]) is None


def test_every_operator_is_elementwise() -> None:
    for name in SCALARS:
        op = find("", name)
        assert op is not None, f"there is no operator {name}"
        assert op.elementwise or name in NOT_ALONE, f"{name} is not elementwise"
