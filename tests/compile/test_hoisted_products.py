"""Products of slices of a sequence in the bodies of loops: one product before the loop, where that computes the same."""

from __future__ import annotations

import pytest

from compile.native_agreement import assert_engines_agree
from compile.reference_comparison import normal
from models import parse_model
from sardonyx._src.compile.prepare.prepare import prepare_model
from sardonyx._src.ir import Array
from sardonyx._src.ir.walk import nodes

LENGTH, BATCH, SIZE, COLUMNS = 20, 3, 5, 7  # too long to be unrolled
STATE = f"float[{BATCH},{COLUMNS}]"
WEIGHTS = f"float[{SIZE},{COLUMNS}] w, float[{COLUMNS}] b"


def products_in_bodies(text: str) -> int:
    model = prepare_model(parse_model(text, opset=28), lambda *_: True).model
    bodies = [node for node in nodes(model.graph) if node.graph is not model.graph]
    return sum(node.op_type in ("MatMul", "Gemm") for node in bodies)


def feeds(*dims: int) -> dict[str, Array]:
    shape = dims or (LENGTH, BATCH, SIZE)
    return {
        "x": normal(*shape, seed=1),
        "w": normal(SIZE, COLUMNS, seed=2) / 3,
        "b": normal(COLUMNS, seed=3),
        "h": normal(BATCH, COLUMNS, seed=4),
    }


def scan(product: str, attributes: str = "", dims: str = f"{LENGTH},{BATCH},{SIZE}") -> str:
    """A Scan with the state s = tanh(s + p), for a product p of the slice t."""
    return f"""g (float[{dims}] x, {WEIGHTS}, {STATE} h) => ({STATE} last, float[L,{BATCH},{COLUMNS}] y) {{
      transposed = Transpose(w)
      last, y = Scan <num_scan_inputs = 1{attributes}, body = step ({STATE} s, float[{BATCH},{SIZE}] t)
        => ({STATE} next, {STATE} out) {{ {product} sum = Add(s, p) next = Tanh(sum) out = Identity(next) }}> (h, x) }}"""


@pytest.mark.parametrize(
    "product",
    ["p = MatMul(t, w)", "q = MatMul(t, w) p = Add(q, b)", "p = Gemm(t, w, b)", "p = Gemm(t, w, s)",
     "p = Gemm(t, w)", "p = Gemm <transB = 1> (t, transposed, b)"],
)  # fmt: skip
@pytest.mark.parametrize("dims", [f"{LENGTH},{BATCH},{SIZE}", f"T,{BATCH},{SIZE}"])
def test_scans(product: str, dims: str) -> None:
    assert products_in_bodies(scan(product, dims=dims)) == 0
    assert_engines_agree(scan(product, dims=dims), feeds())
    if "T" in dims:
        assert_engines_agree(scan(product, dims=dims), feeds(1, BATCH, SIZE), feeds(11, BATCH, SIZE))


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -2])
def test_directions_and_axes(direction: int, axis: int) -> None:
    attributes = f", scan_input_directions = [{direction}], scan_input_axes = [{axis}]"
    dims = (LENGTH, BATCH, SIZE) if axis == 0 else (BATCH, LENGTH, SIZE)
    text = scan("p = MatMul(t, w)", attributes, ",".join(map(str, dims)))
    assert products_in_bodies(text) == 0
    assert_engines_agree(text, feeds(*dims))


def test_two_products_of_one_slice() -> None:
    text = scan("p0 = MatMul(t, w) v = Neg(w) p1 = MatMul(t, v) q = Sigmoid(p1) p = Mul(p0, q)")
    assert products_in_bodies(text) == 1  # by the matrix that the body computes
    assert_engines_agree(text, feeds())


@pytest.mark.parametrize(
    ("product", "attributes"),
    [
        ("n = Neg(t) p = MatMul(n, w)", ""),
        ("v = ReduceSum <keepdims = 1> (s) u = Mul(w, v) p = MatMul(t, u)", ""),
        ("p = Gemm <alpha = 0.5> (t, w, b)", ""),
        ("p = MatMul(t, w)", ", scan_input_axes = [2]"),
    ],
)
def test_products_that_stay(product: str, attributes: str) -> None:
    dims = (BATCH, SIZE, LENGTH) if attributes else (LENGTH, BATCH, SIZE)
    text = scan(product, attributes, ",".join(map(str, dims)))
    assert products_in_bodies(text) == 1
    assert_engines_agree(text, feeds(*dims))


def loop(trips: int, index: str = "n") -> str:
    """A Loop over the first slices of x."""
    return f"""g (float[{LENGTH},{BATCH},{SIZE}] x, {WEIGHTS}, {STATE} h) => ({STATE} last, float[L,{BATCH},{COLUMNS}] y) {{
      trips = Constant <value_int = {trips}> () one = Constant <value_int = 1> ()
      last, y = Loop <body = step (int64 n, bool go, {STATE} s) => (bool on, {STATE} next, {STATE} out) {{
        on = Identity(go) m = Sub(n, one) t = Gather <axis = 0> (x, {index}) p = Gemm(t, w, b) sum = Add(s, p) next = Tanh(sum)
        out = Identity(next) }}> (trips, , h) }}"""


def test_loops_over_a_whole_sequence() -> None:
    assert products_in_bodies(loop(LENGTH)) == 0
    assert_engines_agree(loop(LENGTH), feeds())


@pytest.mark.parametrize(("trips", "index"), [(LENGTH - 1, "n"), (LENGTH, "m")])
def test_loops_over_other_slices_keep_their_products(trips: int, index: str) -> None:
    assert products_in_bodies(loop(trips, index=index)) == 1
    assert_engines_agree(loop(trips, index=index), feeds())


def test_a_large_product_stays_in_the_body() -> None:
    text = scan("p = MatMul(t, w)", dims=f"{1 << 24},{BATCH},{SIZE}")
    assert products_in_bodies(text) == 1


def test_a_matrix_of_the_body_becomes_a_constant_of_the_model() -> None:
    elements = ", ".join(map(repr, feeds()["w"].ravel().tolist()))
    text = scan("p = MatMul(t, v)").replace(
        f"=> ({STATE} next, {STATE} out) {{",
        f"=> ({STATE} next, {STATE} out) <float[{SIZE},{COLUMNS}] v = {{{elements}}}> {{",
    )
    assert products_in_bodies(text) == 0
    assert_engines_agree(text, feeds())
