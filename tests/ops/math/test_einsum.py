from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest

import sardonyx as sx
from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    M,
    N,
    assert_contradiction,
    assert_refused,
    assert_too_large,
    f32,
    floats,
    i64,
    infer_shape,
    make_inference,
    samples,
)
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.ir.dims import dim_max
from sardonyx._src.runtime.session.session import Engine

A = f32([[1, 2], [3, 4]])
B = f32([[5, 6, 7], [8, 9, 10]])
AB = f32([[21, 24, 27], [47, 54, 61]])
CUBE = np.arange(8, dtype=np.float32).reshape(2, 2, 2)


def einsum(equation: str, inputs: Sequence[Array], result: Array, label: str = "", version: int = 12) -> Case:
    return Case("Einsum", version, [*inputs], [result], {"equation": equation}, f"{equation} {label}")


CASES = [
    *(einsum("ij,jk->ik", [A, B], AB, version=v) for v in (12, 28)),
    einsum(" i j , j k ->  k i", [A, B], AB.T, "spaces"),
    einsum("ij,jk", [A, B], AB, "implicit"),
    einsum("ba", [A], A.T, "implicit, in the order of letters"),
    einsum("aB", [A], A.T, "capitals come first"),
    einsum("Aa->aA", [A], A.T, "capitals are other letters"),
    einsum("ij->", [A], f32(10), "everything summed"),
    einsum("ii", [A], f32(5), "the trace"),
    einsum("ii->i", [A], f32([1, 4]), "the diagonal"),
    einsum("iii->i", [CUBE], f32([0, 7]), "the long diagonal"),
    einsum("ij,ij->ij", [A, A], A * A, "no sum"),
    einsum("i,j->ij", [f32([1, 2]), f32([3, 4, 5])], f32([[3, 4, 5], [6, 8, 10]]), "outer"),
    einsum("i,i", [f32([1, 2]), f32([3, 4])], f32(11), "inner"),
    einsum(",i->i", [f32(2), f32([3, 4])], f32([6, 8]), "scalar term"),
    einsum("->", [f32(2)], f32(2), "scalar"),
    einsum("", [f32(2)], f32(2), "scalar, implicit"),
    einsum("i,ij,j->", [f32([1, 2]), A, f32([3, 4])], f32(61), "three terms"),
    einsum("...ij,...jk->...ik", [np.stack([A, -A]), np.stack([B, B])], np.stack([AB, -AB]), "batches"),
    einsum("...ij,...jk", [np.stack([A, -A]), B[None]], np.stack([AB, -AB]), "batches broadcast, implicit"),
    einsum("...i->...", [CUBE], f32([[1, 5], [9, 13]]), "ellipsis stays"),
    einsum("...i->i...", [CUBE], np.moveaxis(CUBE, -1, 0), "ellipsis moves"),
    einsum("...i->i", [CUBE], f32([12, 16]), "ellipsis is summed"),
    einsum("i...->...", [A], f32([4, 6]), "ellipsis last"),
    einsum("i...j,k->ijk...", [CUBE, f32([1])], np.moveaxis(CUBE, 1, -1)[:, :, None], "ellipsis within"),
    einsum("...i", [f32([1, 2])], f32([1, 2]), "ellipsis of no axes"),
    einsum("i,i->i", [f32([2]), f32([3, 4])], f32([6, 8]), "a size of 1 stretches"),
    einsum("ij,jk->ik", [A[:, :0], B[:0]], np.zeros((2, 3), np.float32), "sum of nothing"),
    einsum("ij,jk->ik", [f32([[np.inf, 1]]), f32([[0], [1]])], f32([[np.nan]]), "infinity by zero"),
    einsum("i,i", [np.array([100, 100], np.int8)] * 2, np.array(32, np.int8), "20000 wraps to 32"),
    einsum("i,i->i", [np.array([200, 2], np.uint8)] * 2, np.array([64, 4], np.uint8), "wraps"),
    einsum("i,i", [i64([2**53 + 1, 0]), i64([1, 1])], i64(2**53 + 1), "int64 is exact"),
    einsum("i->", [np.array([2048, 1, 1], np.float16)], np.array(2050, np.float16), "rounded once"),
    einsum("i->", [np.array([256, 1, 1], ml_dtypes.bfloat16)], np.array(258, ml_dtypes.bfloat16), "rounded once", 28),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [12, 28])
def test_every_element_type(version: int) -> None:
    for x in samples("Einsum", version):
        expected = np.array([1, 4, 9 if x.dtype.kind in "iu" else 16]).astype(x.dtype)
        assert_case(einsum("i,i->i", [x[:3], x[:3]], expected, version=version))


@pytest.mark.parametrize(
    ("equation", "why"),
    [
        ("ij,jk->im", "the output of equation 'ij,jk->im' must use labels of the inputs"),
        ("ij,jk->ii", "the output of equation 'ij,jk->ii' must name each axis once"),
        ("i1,jk->i", "' must consist of letters and at most one ellipsis"),
        ("ij,jk.->ik", "' must consist of letters and at most one ellipsis"),
        ("ij,jk->ik->", "' must consist of letters and at most one ellipsis"),
        ("......,jk", "' must consist of letters and at most one ellipsis"),
        ("ij->ji", "the equation must have one term for each of 2 inputs; got 1"),
        ("ijk,jk->i", "a term must have one label for each axis of its input; got 'ijk' for rank 2"),
        ("i,jk->i", "a term must have one label for each axis of its input; got 'i' for rank 2"),
        ("i...,...->i", "all ellipses must cover the same number of axes; got 1 and 2"),
        ("ij,jk->ik...", "the output of equation 'ij,jk->ik...' must use labels of the inputs"),
        ("ij,ij->ij", "an axis of equation 'ij,ij->ij' must have one size; got 2 and 3"),
    ],
)
def test_equations_that_do_not_fit_are_refused(equation: str, why: str) -> None:
    assert_refused(einsum(equation, [A, B], AB), why)


def test_equation_that_does_not_fit_the_ranks_is_found_before_the_run() -> None:
    assert_contradiction(
        make_inference("Einsum", 12, [floats(N, M), floats(N)], equation="ij,jk->ik"),
        "a term must have one label for each axis of its input; got 'jk' for rank 1",
    )
    assert_contradiction(
        make_inference("Einsum", 12, [floats(N, 2), floats(3, N)], equation="ij,jk->ik"), "sizes 2 and 3"
    )
    assert_contradiction(
        make_inference("Einsum", 12, [None, None], equation="i->i"),
        "the equation must have one term for each of 2 inputs; got 1",
    )


def test_large_results_are_refused_before_they_are_made() -> None:
    x = np.zeros(1 << 17, np.float32)
    assert_too_large(einsum("i,j->ij", [x, x], x))


def inferred_shape(equation: str, *inputs: TensorType | None) -> object:
    return infer_shape(make_inference("Einsum", 12, inputs, equation=equation))


def test_symbols_stay_in_the_shape() -> None:
    assert inferred_shape("ij,jk->ik", floats(N, 3), floats(3, M)) == (N, M)
    assert inferred_shape("ij,jk", floats(N, 3), floats(3, M)) == (N, M)
    assert inferred_shape("bhid,bhjd->bhij", floats(N, 8, M, 64), floats(N, 8, M, 64)) == (N, 8, M, M)
    assert inferred_shape("...ij,...jk->...ik", floats(N, 1, 3, 4), floats(1, M, 4, 5)) == (N, M, 3, 5)
    assert inferred_shape("...i->i...", floats(N, M, 3)) == (3, N, M)
    assert inferred_shape("ii->i", floats(N, N)) == (N,)
    assert inferred_shape("ii->i", floats(N, 4)) == (4,)
    assert inferred_shape("i,i->i", floats(N), floats(M)) == (dim_max(M, N),)
    assert inferred_shape("ij->", floats(N, M)) == ()


def test_inputs_of_unknown_rank_keep_what_the_others_determine() -> None:
    unknown = TensorType(FLOAT)
    assert inferred_shape("ij,jk->ik", floats(N, 3), unknown) == (N, None)
    assert inferred_shape("ij,jk->ijk", floats(N, 3), unknown) == (N, 3, None)
    assert inferred_shape("...i,...i->...", floats(N, 3, 4), unknown) == (None, 3)
    assert inferred_shape("...i->...", unknown) is None
    assert inferred_shape("...i->i", unknown) == (None,)
    assert inferred_shape("...i,...->i", floats(N, 3), None) == (3,)


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_more_operands_than_numpy_takes(engine: Engine) -> None:
    """Pairs of matrices between vectors: axes that are summed at once, later, and never."""
    rng = np.random.default_rng(1)
    equation = ",".join(["i"] * 40 + ["ij", "jk"] + ["k"] * 40) + "->ik"
    shapes = [(2,)] * 40 + [(2, 3), (3, 4)] + [(4,)] * 40
    arrays = [rng.uniform(0.9, 1.1, shape).astype(np.float32) for shape in shapes]
    b = GraphBuilder(23)
    inputs = [b.input(f"x{i}", FLOAT, shape) for i, shape in enumerate(shapes)]
    model = b.model(y=b.node("Einsum", inputs, ["y"], equation=equation).outputs[0])
    feeds = {f"x{i}": array for i, array in enumerate(arrays)}
    left, right = np.prod(arrays[:40], axis=0), np.prod(arrays[42:], axis=0)
    expected = left[:, None] * (arrays[40] @ arrays[41]) * right
    y = sx.Session(model, engine=engine).run(feeds)["y"]
    np.testing.assert_allclose(y, expected, rtol=1e-4)


def test_products_of_many_operands_are_held_to_the_limit() -> None:
    count = 20
    letters = "abcdefghijklmnopqrst"
    b = GraphBuilder(23)
    inputs = [b.input(f"x{i}", FLOAT, [10]) for i in range(2 * count)]
    equation = ",".join([*letters, *letters]) + "->"
    model = b.model(y=b.node("Einsum", inputs, ["y"], equation=equation).outputs[0])
    feeds = {f"x{i}": np.ones(10, np.float32) for i in range(2 * count)}
    with pytest.raises(sx.LimitError, match="a product of Einsum of shape"):
        sx.Session(model, engine="reference").run(feeds)
