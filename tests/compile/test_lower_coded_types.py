"""Casts, quantization and data movement of minifloats and integers of fewer than 8 bits: native, and as the reference engine."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.codegen.element_types import CODED_TYPES
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ops.quantization.conversion import MAX_FINITE, CastRule, convert

CODED = sorted(CODED_TYPES)
MOVED = [t for t in CODED if t.bits != 6]  # only Cast and Constant have floats of 6 bits
QUANTIZED = [t for t in MOVED if t is not DataType.FLOAT8E8M0]
SCALES = [DataType.FLOAT, DataType.FLOAT16, DataType.BFLOAT16]
SIZES = (0, 1, 15, 16, 17, 67)


def assert_native(text: str, *feeds: Mapping[str, Array]) -> None:
    """Asserts equal bits for each feed on one and two threads, but for payloads of NaN, and that nothing falls back."""
    model = parse_model(text, opset=28)
    compile_model(model, host_target(), verify=True)
    reference = sx.Session(model, engine="reference")
    sessions = [sx.Session(model, engine="native", threads=threads) for threads in (1, 2)]
    for feed in feeds:
        expected = reference.run(feed)
        for session in sessions:
            for name, value in session.run(feed).items():
                assert_same_bits(np.asarray(value), np.asarray(expected[name]))
    for session in sessions:
        assert session.stats.fallback_nodes == 0 and not session.stats.bailouts


def assert_same_bits(actual: Array, expected: Array) -> None:
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    bits = [np.ascontiguousarray(x).reshape(-1).view(np.uint8) for x in (actual, expected)]
    if actual.dtype.kind in "fV" and not DataType.of(actual.dtype).is_integer:
        nan = np.isnan(expected.astype(np.float64))
        np.testing.assert_array_equal(np.isnan(actual.astype(np.float64)), nan)
        bits = [x.reshape(-1, actual.itemsize)[~nan.reshape(-1)] for x in bits]
    np.testing.assert_array_equal(bits[0], bits[1])


def codes(dtype: DataType, *shape: int, seed: int = 0) -> Array:
    """Random elements of a type, all codes among them."""
    random = np.random.default_rng(seed).integers(0, 1 << dtype.bits, shape, np.uint8)
    return random.view(dtype.numpy)


def floats(*shape: int, scale: float = 30, dtype: DataType = DataType.FLOAT) -> Array:
    """Normal numbers with ties, NaN, infinities and signed zeros among them."""
    random = np.random.default_rng(1).normal(0, scale, shape)
    flat = random.reshape(-1)
    flat[::3] = np.round(flat[::3] * 2) / 2
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-6, 3e38, -6e4]
    flat[1::11] = np.resize(special, flat[1::11].size)
    with np.errstate(all="ignore"):
        return random.astype(np.float32).astype(dtype.numpy)


@pytest.mark.parametrize("dtype", MOVED, ids=lambda dtype: dtype.text)
def test_cast_and_cast_like_with_their_attributes(dtype: DataType) -> None:
    """From half precision, too, whose promotion keeps the attributes."""
    rules = ["", ", saturate = 0"] if dtype.is_float else [""]
    if dtype is DataType.FLOAT8E8M0:
        rules += [', round_mode = "down"', ', saturate = 0, round_mode = "nearest"']
    for source in SCALES:
        for rule in rules:
            name = dtype.text
            text = f"""g ({source.text}[N] x, {name}[M] t) => ({name}[N] y, {name}[N] v, {source.text}[N] w) {{
              y = Cast <to = {int(dtype)}{rule}> (x)  v = CastLike <{rule[2:]}> (x, t)  w = Cast <to = {int(source)}> (y) }}"""
            text = text.replace("<>", "")
            feeds = [{"x": floats(n, dtype=source, scale=300), "t": codes(dtype, 2)} for n in SIZES]
            assert_native(text, *feeds)


@pytest.mark.parametrize("dtype", [t for t in CODED if t.bits == 6], ids=lambda dtype: dtype.text)
def test_casts_to_floats_of_6_bits(dtype: DataType) -> None:
    for source in SCALES:
        text = f"""g ({source.text}[N] x) => ({dtype.text}[N] y, {source.text}[N] w) {{
          y = Cast <to = {int(dtype)}> (x)  w = Cast <to = {int(source)}> (y) }}"""
        assert_native(text, *({"x": floats(n, dtype=source, scale=300)} for n in SIZES))


@pytest.mark.parametrize("dtype", MOVED, ids=lambda dtype: dtype.text)
def test_casts_of_strided_operands(dtype: DataType) -> None:
    text = f"""g ({dtype.text}[A,B] x) => (float[B,A] y, {dtype.text}[B,A] z) {{
      t = Transpose(x)  y = Cast <to = 1> (t)  z = Cast <to = {int(dtype)}> (y) }}"""
    assert_native(text, *({"x": codes(dtype, *shape)} for shape in ((3, 5), (17, 33), (1, 1), (0, 4))))


@pytest.mark.parametrize("dtype", QUANTIZED, ids=lambda dtype: dtype.text)
@pytest.mark.parametrize("scale", SCALES, ids=lambda dtype: dtype.text)
def test_quantize_and_dequantize_per_tensor(scale: DataType, dtype: DataType) -> None:
    name, s = dtype.text, scale.text
    text = f"""g ({s}[N] x, {s} s, {name} z) => ({name}[N] q, {name}[N] p, {s}[N] y, {s}[N] v) {{
      q = QuantizeLinear(x, s, z)  p = QuantizeLinear <output_dtype = {int(dtype)}, saturate = 0> (x, s)
      y = DequantizeLinear(q, s, z)  v = DequantizeLinear(p, s) }}"""
    for zero in (0, 1):
        z = convert(np.array(zero, np.float32), dtype, CastRule())
        feeds = [
            {"x": floats(n, dtype=scale), "s": np.array(0.37, scale.numpy), "z": z.astype(dtype.numpy)}
            for n in SIZES
        ]
        assert_native(text, *feeds)


@pytest.mark.parametrize("dtype", QUANTIZED, ids=lambda dtype: dtype.text)
@pytest.mark.parametrize(("axis", "shape"), [(0, (5, 9)), (1, (3, 17)), (-2, (2, 5, 3)), (1, (1, 3, 0))])
def test_quantize_and_dequantize_per_axis(axis: int, shape: tuple[int, ...], dtype: DataType) -> None:
    dims = ",".join(f"D{i}" for i in range(len(shape)))
    size, name = shape[axis], dtype.text
    text = f"""g (float[{dims}] x, float[K] s, {name}[K] z) => ({name}[{dims}] q, float[{dims}] y) {{
      q = QuantizeLinear <axis = {axis}> (x, s, z)  y = DequantizeLinear <axis = {axis}> (q, s, z) }}"""
    text = text.replace("[K]", f"[D{axis % len(shape)}]")
    zeros = codes(dtype, size) if dtype.is_integer else np.zeros(size, dtype.numpy)
    scales = np.linspace(0.2, 3, size).astype(np.float32)
    assert_native(text, {"x": floats(*shape), "s": scales, "z": zeros})


BLOCKED = """g (float[{dims}] x, float[{blocks}] s, {name}[{blocks}] z) => ({name}[{dims}] q, {name}[{dims}] p, float[{dims}] y) {{
  q = QuantizeLinear <axis = {axis}, block_size = {size}> (x, s, z)
  p = QuantizeLinear <axis = {axis}, block_size = {size}, output_dtype = {number}> (x, s)
  y = DequantizeLinear <axis = {axis}, block_size = {size}> (q, s, z) }}"""
BLOCKS = [
    ("M,12", 1, 4), ("8,M", -2, 8), ("2,6,M,3", 1, 2), ("M,K,6", 2, 3), ("M,7", 1, 3), ("5,M", 0, 4), ("M,6", 1, 1),
    ("M,6", 1, 6), ("M,6", 1, 9), ("7", 0, 2),
]  # fmt: skip


@pytest.mark.parametrize(
    "dtype", [DataType.FLOAT8E4M3FN, DataType.INT4, DataType.UINT16], ids=lambda dtype: dtype.text
)
@pytest.mark.parametrize(("dims", "axis", "size"), BLOCKS)
def test_quantize_and_dequantize_in_blocks(dims: str, axis: int, size: int, dtype: DataType) -> None:
    """Whole blocks, a last one that is partial, blocks of one element, and one that is longer than the axis."""
    shape = [int(dim.replace("M", "5").replace("K", "3")) for dim in dims.split(",")]
    blocks, block_shape = dims.split(","), list(shape)
    block_shape[axis] = -(-shape[axis] // size)
    blocks[axis] = str(block_shape[axis])
    text = BLOCKED.format(
        dims=dims, blocks=",".join(blocks), name=dtype.text, axis=axis, size=size, number=int(dtype)
    )
    scales = np.random.default_rng(0).uniform(0.1, 2, block_shape).astype(np.float32)
    if dtype.is_integer:
        limit = 1 << dtype.bits - dtype.is_signed
        zeros = np.random.default_rng(0).integers(0, limit, block_shape).astype(np.float32)
    else:
        zeros = np.zeros(block_shape, np.float32)
    with np.errstate(all="ignore"):
        assert_native(text, {"x": floats(*shape), "s": scales, "z": zeros.astype(dtype.numpy)})


def test_blocks_of_other_sizes_than_the_scales_are_not_broadcast() -> None:
    text = "g (float[A,6] x, float[B,2] s) => (uint4[A,6] q) { q = QuantizeLinear <axis = 1, block_size = 3, output_dtype = 21> (x, s) }"
    session = sx.Session(parse_model(text, opset=28), engine="native", threads=1)
    with pytest.raises(sx.errors.EvaluationError, match="y_scale must have shape"):
        session.run({"x": floats(4, 6), "s": np.ones((1, 2), np.float32)})


@pytest.mark.parametrize(
    "scale", [DataType.FLOAT8E8M0, DataType.INT32, *SCALES], ids=lambda dtype: dtype.text
)
@pytest.mark.parametrize("source", [DataType.INT32, *SCALES], ids=lambda dtype: dtype.text)
def test_quotients_are_rounded_to_the_precision(source: DataType, scale: DataType) -> None:
    x = floats(333, scale=900)
    if source is DataType.INT32:
        x = np.nan_to_num(x).clip(-(2**30), 2**30)
    step = np.array(3 if scale is DataType.INT32 else 2.7, np.float32)
    outputs: list[str] = []
    nodes: list[str] = []
    for precision in ("", ", precision = 1", ", precision = 10", ", precision = 16"):
        for to in (DataType.UINT8, DataType.INT4, DataType.FLOAT8E4M3FN, DataType.INT16):
            outputs.append(f"{to.text}[N] q{len(outputs)}")
            nodes.append(f"q{len(nodes)} = QuantizeLinear <output_dtype = {int(to)}{precision}> (x, s)")
    text = f"g ({source.text}[N] x, {scale.text} s) => ({', '.join(outputs)}) {{ {' '.join(nodes)} }}"
    with np.errstate(all="ignore"):
        assert_native(text, {"x": x.astype(source.numpy), "s": step.astype(scale.numpy)})


@pytest.mark.parametrize("to", SCALES, ids=lambda dtype: dtype.text)
@pytest.mark.parametrize("scale", [DataType.FLOAT8E8M0, *SCALES], ids=lambda dtype: dtype.text)
@pytest.mark.parametrize(
    "dtype",
    [DataType.UINT4, DataType.FLOAT8E5M2, DataType.INT8, DataType.UINT16],
    ids=lambda dtype: dtype.text,
)
def test_dequantized_factors_are_rounded_to_the_result(
    dtype: DataType, scale: DataType, to: DataType
) -> None:
    text = f"""g ({dtype.text}[N] x, {scale.text} s, {dtype.text} z) => ({to.text}[N] y) {{
      y = DequantizeLinear <output_dtype = {int(to)}> (x, s, z) }}"""
    x = (
        np.random.default_rng(0)
        .integers(0, 1 << dtype.bits, 300)
        .astype(f"u{dtype.numpy.itemsize}")
        .view(dtype.numpy)
    )
    s = np.array(0.0271, np.float32).astype(scale.numpy)
    assert_native(text, {"x": x, "s": s, "z": x[3].reshape(())})


@pytest.mark.parametrize("dtype", MOVED, ids=lambda dtype: dtype.text)
def test_codes_are_moved_as_bytes(dtype: DataType) -> None:
    name = dtype.text
    text = f"""g ({name}[A,B] x) => ({name}[E] f, {name}[B,A] t, {name}[A,B] i, {name}[1,A,B] u) {{
      i = Identity(x)  t = Transpose(x)  minus = Constant <value = int64[1] {{-1}}> ()  f = Reshape(x, minus)
      zero = Constant <value = int64[1] {{0}}> ()  u = Unsqueeze(x, zero) }}"""
    assert_native(text, {"x": codes(dtype, 3, 5)}, {"x": codes(dtype, 17, 33)})


def test_every_saturated_type_has_a_limit() -> None:
    """Numbers beyond the largest one saturate in the quantized types, too."""
    for dtype, largest in MAX_FINITE.items():
        text = f"g (float[N] x, float s) => ({dtype.text}[N] q) {{ q = QuantizeLinear <output_dtype = {int(dtype)}> (x, s) }}"
        session = sx.Session(parse_model(text, opset=28), engine="native", threads=1)
        result = session.run({"x": np.array([1e9, -1e9], np.float32), "s": np.array(1, np.float32)})["q"]
        np.testing.assert_array_equal(np.asarray(result).astype(np.float32), [largest, -largest])
