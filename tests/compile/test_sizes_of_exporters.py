"""Sizes as exporters compute them: rounded quotients, remainders, floats and choices, which native code computes for any size."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Array, Model

CONSTANTS = """int64[1] m1 = {-1}, int64[1] none = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3},
  int64[1] four = {4}, int64[1] eight = {8}, float[1] twice = {2}, float[1] half = {0.5}, float[1] third = {3}"""

# nodes that compute `n` from the size `h` of x, and the least size for which the program is compiled
FORMULAS = {
    "a convolution of stride 2": ("a = Add(m1, h) d = Div(a, two) n = Add(d, one)", 1),
    "a convolution of stride 3": ("a = Sub(h, one) d = Div(a, three) n = Add(d, one)", 1),
    "a convolution of stride 4": ("a = Sub(h, one) d = Div(a, four) n = Add(d, one)", 1),
    "two convolutions": (
        "a = Sub(h, one) b = Div(a, two) c = Add(b, one) d = Sub(c, one) e = Div(d, two) n = Add(e, one)", 1,
    ),
    "two convolutions without pads": (
        "a = Sub(h, three) b = Div(a, two) c = Add(b, one) d = Sub(c, three) e = Div(d, two) n = Add(e, one)", 7,
    ),
    "twice a convolution of stride 2": ("a = Add(m1, h) b = Div(a, two) c = Add(b, one) n = Mul(c, two)", 1),
    "the next even number": ("m = Mod(h, two) n = Add(h, m)", 0),
    "the next multiple": ("m = Mod(h, eight) a = Sub(eight, m) b = Mod(a, eight) n = Add(h, b)", 0),
    "a remainder rounded toward zero": ("a = Add(h, one) m = Mod<fmod = 1>(a, three) n = Add(h, m)", 0),
    "a float rounded down": ("f = Cast<to = 1>(h) d = Div(f, twice) e = Floor(d) n = Cast<to = 7>(e)", 0),
    "a float rounded up": ("f = Cast<to = 1>(h) d = Div(f, third) e = Ceil(d) n = Cast<to = 7>(e)", 0),
    "a double rounded up": (
        "f = Cast<to = 11>(h) k = Cast<to = 11>(third) d = Div(f, k) e = Ceil(d) n = Cast<to = 7>(e)", 0,
    ),
    "a float that is cut": ("f = Cast<to = 1>(h) d = Mul(f, half) n = Cast<to = 7>(d)", 0),
    "one and a half": ("f = Cast<to = 1>(h) d = Mul(f, half) e = Add(d, f) g = Floor(e) n = Cast<to = 7>(g)", 0),
    "the greater": ("n = Max(h, four)", 0),
    "the smaller": ("n = Min(h, four)", 0),
    "a choice of the greater": ("g = Greater(h, four) n = Where(g, h, four)", 0),
    "a choice of the smaller": ("g = LessOrEqual(h, four) n = Where(g, h, four)", 0),
    "a choice of others": ("g = Less(h, three) n = Where(g, eight, h)", 0),
}  # fmt: skip
SIZES = (17, 16, 9, 8, 7, 3, 2, 1, 0)

USES = """start = Squeeze(none)  step = Squeeze(one)  end = Squeeze(n)  matrix = Concat<axis = 0>(one, n)
  a0 = Expand(v, matrix)  range = Range(start, end, step)  a1 = Cast<to = 1>(range)  a2 = ConstantOfShape(matrix)  a3 = Slice(x, none, n, two)
  a4 = Tile(v, matrix)  pads = Concat<axis = 0>(none, none, none, none, none, none, n, none)  a5 = Pad(x, pads)
  y0 = Neg(a0)  y1 = Neg(a1)  y2 = Neg(a2)  y3 = Neg(a3)  y4 = Neg(a4)  y5 = Neg(a5)"""
USES_OF_POSITIVE_SIZES = """rows = Shape<end = 2>(x)  image = Concat<axis = 0>(rows, n, n)  a0 = Resize(x, , , image)
  matrix = Concat<axis = 0>(one, n)  row = Expand(v, matrix)  column = Concat<axis = 0>(n, one, one)  a1 = Reshape(row, column)
  y0 = Neg(a0)  y1 = Neg(a1)"""


def model_of(nodes: str, uses: str) -> Model:
    outputs = ", ".join(f"y{i}" for i in range(uses.count("Neg(")))
    text = f"g (float[b,3,h,w] x, float[1,1] v) => ({outputs}) <{CONSTANTS}>"
    return parse_model(f"{text} {{ h = Shape<start = 2, end = 3>(x) {nodes} {uses} }}", opset=21)


def feeds(size: int) -> dict[str, Array]:
    rng = np.random.default_rng(size)
    return {"x": rng.random((1, 3, size, 9), np.float32), "v": np.ones((1, 1), np.float32)}


def results(session: sx.Session, size: int) -> list[Array] | type[Exception]:
    try:
        return [np.asarray(value) for value in session.run(feeds(size)).values()]
    except sx.SardonyxError as error:
        return type(error)


@pytest.mark.parametrize("uses", [USES, USES_OF_POSITIVE_SIZES], ids=["any size", "positive sizes"])
@pytest.mark.parametrize("name", FORMULAS)
def test_computed_sizes_are_native_and_right_for_every_size(name: str, uses: str) -> None:
    nodes, least = FORMULAS[name]
    native, reference = (
        sx.Session(model_of(nodes, uses), engine=e, threads=1) for e in ("native", "reference")
    )
    assert native.stats.fallback_nodes == 0
    for size in SIZES:
        actual, expected = results(native, size), results(reference, size)
        if isinstance(actual, list) and isinstance(expected, list):
            for a, b in zip(actual, expected, strict=True):
                np.testing.assert_allclose(a, b, 1e-5, 1e-6, err_msg=f"size {size}")
        else:
            assert actual is expected, f"size {size}"
        if size >= max(least, 1 if uses is USES_OF_POSITIVE_SIZES else 0) and isinstance(actual, list):
            assert not native.stats.bailouts, f"size {size}"


def test_a_size_that_a_float_rounds_is_left_to_the_reference_engine() -> None:
    """No float32 is 2^24 + 1."""
    text = "g (float[n] x) => (y) { h = Shape(x) f = Cast<to = 1>(h) n = Cast<to = 7>(f) y = ConstantOfShape(n) }"
    session = sx.Session(parse_model(text, opset=21), engine="native")
    assert session.stats.fallback_nodes == 0
    for size, bailouts in ((5, 0), ((1 << 24) - 1, 0), ((1 << 24) + 1, 1)):
        x = np.broadcast_to(np.zeros(1, np.float32), size)
        assert session.run({"x": x})["y"].shape == (int(np.float32(size)),)
        assert sum(session.stats.bailouts.values()) == bailouts


MASK_OF_LATEST = """g (int64[b,total] mask, float[b,new] x) => (places, y) <int64[1] one = {1}, int64[1] two = {2}, int64 axis = {1}> {
  count = Shape<start = 1>(x)  all = Shape<start = 1>(mask)  first = Sub(all, count)
  every = CumSum(mask, axis)  places = Slice(every, first, all, one)
  rows = Unsqueeze(places, two)  columns = Unsqueeze(every, one)  seen = LessOrEqual(columns, rows)
  wide = Unsqueeze(x, two)  floats = Cast<to = 1>(seen)  y = Mul(floats, wide) }"""


def test_the_latest_columns_of_a_mask_begin_at_a_difference_of_sizes() -> None:
    """Of more new columns than all, Slice counts a negative start from the back, which NumPy's slices do, too."""
    session = sx.Session(parse_model(MASK_OF_LATEST, opset=24), engine="native", shapes="off")
    assert session.stats.fallback_nodes == 0
    for total, new in ((7, 3), (8, 1), (5, 5), (9, 4), (2, 3), (3, 6)):
        mask = np.random.default_rng(total).integers(0, 2, (2, total))
        x = np.arange(2.0 * new, dtype=np.float32).reshape(2, new)
        every = mask.cumsum(1)
        places = every[:, total - new : total]
        if places.shape[1] not in (1, new):
            with pytest.raises(sx.SardonyxError):  # rows of x and of the mask do not fit each other
                session.run({"mask": mask, "x": x})
            continue
        results = session.run({"mask": mask, "x": x})
        np.testing.assert_array_equal(results["places"], places)
        np.testing.assert_array_equal(results["y"], (every[:, None] <= places[:, :, None]) * x[:, :, None])
