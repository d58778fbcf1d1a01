"""Proofs of row independence: models that compute each row by itself, and those that do not."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.serve.batching.row_independence import prove_row_independence

INDEPENDENT = {
    "product": "(float[N,4] x) => (float[N,2] y) <float[4,2] w = {1,2,3,4,5,6,7,8}> { h = MatMul(x, w) y = Relu(h) }",
    "gemm": "(float[N,2] x) => (float[N,2] y) <float[2,2] w = {1,2,3,4}, float[2] c = {1,2}> { y = Gemm<transB=1>(x, w, c) }",
    "softmax": "(float[N,4] x) => (float[N,4] y) { y = Softmax(x) }",
    "reduction": "(float[N,4] x) => (float[N] y) <int64[1] a = {-1}> { y = ReduceMean<keepdims=0>(x, a) }",
    "two inputs": "(float[N,4] x, float[N,1] z) => (float[N,4] y) { y = Mul(x, z) }",
    "attention": """(float[N,S,4] x) => (float[N,S,4] y)
        <int64[1] a = {0}, int64[1] b = {2}, int64[2] h = {2,2}> {
        shape = Shape(x) lead = Slice(shape, a, b) split = Concat<axis=0>(lead, h) q = Reshape(x, split)
        left = Transpose<perm=[0,2,1,3]>(q) right = Transpose<perm=[0,2,3,1]>(q) s = MatMul(left, right)
        p = Softmax(s) c = MatMul(p, left) t = Transpose<perm=[0,2,1,3]>(c) y = Reshape(t, shape) }""",
    "merged axes": """(float[N,S,4] x) => (float[N,S,2] y)
        <float[4,2] w = {1,2,3,4,5,6,7,8}, int64[2] flat = {-1,4}, int64[1] a = {0}, int64[1] b = {2}, int64[1] two = {2}> {
        rows = Reshape(x, flat) h = MatMul(rows, w) shape = Shape(x) lead = Slice(shape, a, b)
        whole = Concat<axis=0>(lead, two) y = Reshape(h, whole) }""",
    "convolution": """(float[N,1,4,4] x) => (float[N,2] y) <float[2,1,3,3] w = {1,0,0,0,1,0,0,0,1,0,0,1,0,1,0,1,0,0}> {
        c = Conv(x, w) r = Relu(c) p = GlobalAveragePool(r) y = Flatten(p) }""",
    "embedding": "(int64[N,S] x) => (float[N,S,2] y) <float[3,2] e = {1,2,3,4,5,6}> { y = Gather(e, x) }",
    "state of zeros": """(float[N,2] x) => (float[N,3] y) <int64[1] a = {0}, int64[1] b = {1}, int64[1] three = {3}, float one = {1}> {
        s = Shape(x) n = Slice(s, a, b) t = Concat<axis=0>(n, three) zeros = ConstantOfShape(t) z = Add(zeros, one)
        y = Concat<axis=1>(x, z) } """.replace("three} ", "three}").replace("[N,3]", "[N,5]"),
    "recurrence": """(float[N,3,2] x) => (float[N,1,2] y)
        <float[1,8,2] w = {1,2,3,4,5,6,7,8,8,7,6,5,4,3,2,1}, float[1,8,2] r = {8,7,6,5,4,3,2,1,1,2,3,4,5,6,7,8}> {
        all, y = LSTM<hidden_size=2, layout=1>(x, w, r) }""",
    "normalization": """(float[N,4] x) => (float[N,4] y) <float[4] s = {1,2,3,4}, float[4] b = {1,2,3,4}> {
        y = LayerNormalization(x, s, b) }""",
    "largest": "(float[N,4] x) => (float[N,4] y) <int64[1] k = {2}> { v, i = TopK(x, k) c = Cast<to=1>(i) y = Concat<axis=1>(v, c) }",
    "columns and margins": """(float[N,4] x) => (float[N,8] y)
        <int64[4] p = {0,1,0,1}, int64[2] r = {1,2}> { a, b = Split<axis=1, num_outputs=2>(x) q = Pad(a, p) t = Tile(b, r)
        y = Concat<axis=1>(q, t) }""",
    "one-hot": """(int64[N,2] x) => (float[N,2,3] y) <int64 d = {3}, float[2] v = {0,1}> { y = OneHot(x, d, v) }""",
    "einsum": '(float[N,2] x, float[N,2] z) => (float[N,2,2] y) { y = Einsum<equation="ni,nj->nij">(x, z) }',
    "selection of columns": """(float[N,4] x) => (float[N,2] y) <int64[2] i = {3,0}> { y = Gather<axis=1>(x, i) }""",
}
MIXED = {
    "softmax over rows": "(float[N,4] x) => (float[N,4] y) { y = Softmax<axis=0>(x) }",
    "sum of rows": "(float[N,4] x) => (float[N,4] y) <int64[1] a = {0}> { m = ReduceSum(x, a) y = Sub(x, m) }",
    "number of rows": """(float[N,4] x) => (float[N,4] y) { s = Shape<start=0,end=1>(x) c = Cast<to=1>(s) y = Div(x, c) }""",
    "numbers of rows": """(float[N,1] x) => (float[N,1] y) <int64 zero = {0}, int64 one = {1}, int64[2] f = {-1,1}> {
        s = Shape<start=0,end=1>(x) n = Squeeze(s) r = Range(zero, n, one) c = Cast<to=1>(r) d = Reshape(c, f) y = Add(x, d) }""",
    "dynamic quantization": """(float[N,8] x) => (float[N,8] y) { q, s, z = DynamicQuantizeLinear(x) y = DequantizeLinear(q, s, z) }""",
    "rows in reverse": """(float[N,4] x) => (float[N,4] y)
        <int64[1] a = {-1}, int64[1] b = {-9223372036854775808}, int64[1] zero = {0}> { y = Slice(x, a, b, zero, a) }""",
    "products of rows": "(float[N,4] x) => (float[N,N] y) { t = Transpose(x) y = MatMul(x, t) }",
    "rows as columns": """(float[N,4] x) => (float[N,4] y) <int64[2] f = {4,-1}> { t = Reshape(x, f) y = Transpose(t) }""",
    "cumulative": "(float[N,4] x) => (float[N,4] y) <int64 a = {0}> { y = CumSum(x, a) }",
    "random numbers": "(float[N,4] x) => (float[N,4] y) { y = RandomUniformLike(x) }",
    "branch on a row": """(float[N,1] x) => (float[N,1] y) <float zero = {0}> { m = ReduceMax<keepdims=0>(x) p = Greater(m, zero)
        y = If(p) <then_branch = a () => (float[N,1] u) { u = Neg(x) }, else_branch = b () => (float[N,1] v) { v = Abs(x) }> }""",
}
UNSHARED = {
    "fixed batch": "(float[1,4] x) => (float[1,4] y) { y = Relu(x) }",
    "two batches": "(float[N,4] x, float[M,4] z) => (float[N,4] y) { y = Relu(x) }",
    "output without": "(float[N,4] x) => (float[4] y) <int64[1] a = {0}> { y = ReduceSum<keepdims=0>(x, a) }",
    "batch on two axes": "(float[N,N] x) => (float[N,N] y) { y = Relu(x) }",
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_rows_are_independent(name: str) -> None:
    """The proof holds, and each row of a batch equals the result for the row alone."""
    model = parse_model("g " + INDEPENDENT[name])
    proof = prove_row_independence(model)
    assert proof.holds, proof.why
    session = sx.Session(model, engine="reference")
    rng = np.random.default_rng(0)
    feeds = {}
    for value in session.inputs:
        shape = [dim if isinstance(dim, int) else 3 for dim in value.type.shape]  # type: ignore[union-attr]
        feeds[value.name] = (
            rng.integers(0, 3, shape)
            if name in ("embedding", "one-hot")
            else rng.normal(size=shape).astype(np.float32)
        )
    batch = session.run(feeds)["y"]
    for i in range(3):
        row = session.run({key: array[i : i + 1] for key, array in feeds.items()})["y"]
        np.testing.assert_allclose(batch[i : i + 1], row, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", MIXED)
def test_rows_that_mix(name: str) -> None:
    proof = prove_row_independence(parse_model("g " + MIXED[name]))
    assert not proof.holds
    assert "may depend on several rows" in proof.why


@pytest.mark.parametrize("name", UNSHARED)
def test_batches_that_are_not_shared(name: str) -> None:
    proof = prove_row_independence(parse_model("g " + UNSHARED[name]))
    assert not proof.holds
    assert "first dim" in proof.why


def test_functions_are_looked_into() -> None:
    text = """g (float[N,4] x) => (float[N,4] y) { y = f.center(x) }
        <domain: "f", opset_import: ["" : 21]> center (a) => (b) {
            axes = Constant<value_ints = [AXIS]>() m = ReduceMean(a, axes) b = Sub(a, m) }"""
    assert prove_row_independence(parse_model(text.replace("AXIS", "1"), more='"f": 1')).holds
    assert not prove_row_independence(parse_model(text.replace("AXIS", "0"), more='"f": 1')).holds
