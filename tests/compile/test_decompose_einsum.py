"""Einsum of every form runs as native transpositions, reductions and products, and agrees with NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.runtime.session.session import Session

F = np.float32
EQUATIONS = [
    ("ij,jk->ik", [(3, 4), (4, 5)]),
    ("ij,jk->ki", [(3, 4), (4, 5)]),
    ("ij,kj->ik", [(3, 4), (5, 4)]),
    ("bhid,bhjd->bhij", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("bhij,bhjd->bihd", [(2, 3, 4, 5), (2, 3, 5, 6)]),
    ("bijc,cd->bdij", [(2, 3, 4, 5), (5, 6)]),
    ("bnchw,bcn->bhw", [(2, 3, 4, 5, 6), (2, 4, 3)]),
    ("bchw,bkc->bkhw", [(2, 3, 4, 5), (2, 6, 3)]),
    ("abcd,efcd->abef", [(2, 3, 4, 5), (3, 2, 4, 5)]),
    ("bij->bi", [(2, 3, 4)]),
    ("ij->", [(3, 4)]),
    ("ij->ji", [(3, 4)]),
    ("ii->i", [(4, 4)]),
    ("ii", [(4, 4)]),
    ("bii->b", [(3, 4, 4)]),
    ("iji->j", [(3, 4, 3)]),
    ("iii->i", [(3, 3, 3)]),
    ("iijj->ij", [(3, 3, 2, 2)]),
    ("i,i", [(4,), (4,)]),
    ("i,j->ij", [(4,), (3,)]),
    ("i,j->ji", [(4,), (3,)]),
    ("ij,ij->ij", [(3, 4), (3, 4)]),
    ("ij,j->ij", [(3, 4), (4,)]),
    ("ij,i->j", [(3, 4), (3,)]),
    ("ij,kl->", [(3, 4), (2, 5)]),
    ("ij,kl->il", [(3, 4), (2, 5)]),
    (",ij->ij", [(), (3, 4)]),
    ("i,->i", [(3,), ()]),
    ("->", [()]),
    ("ab,bc,cd->ad", [(3, 4), (4, 5), (5, 2)]),
    ("ab,bc,cd->dab", [(3, 4), (4, 5), (5, 2)]),
    ("i,ij,j->", [(3,), (3, 4), (4,)]),
    ("i,j,k->ijk", [(3,), (4,), (2,)]),
    ("bi,bj,bk->bijk", [(2, 3), (2, 4), (2, 5)]),
    ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
    ("...ij,jk->...ik", [(2, 6, 3, 4), (4, 5)]),
    ("...ij,...jk", [(2, 3, 4), (1, 4, 5)]),
    ("...i->i...", [(2, 3, 4)]),
    ("i...j,k->ijk...", [(2, 3, 4), (5,)]),
    ("bn,bn->bn", [(1, 4), (3, 4)]),
    ("bn,bn->n", [(1, 4), (3, 1)]),
    ("ij,jk->ik", [(3, 0), (0, 5)]),
    ("ij,jk->ik", [(0, 3), (3, 5)]),
    ("abc,bcd->ad", [(2, 0, 3), (0, 3, 4)]),
]


def open_einsum(equation: str, shapes: Sequence[Sequence[object]], dtype: str = "float") -> Session:
    inputs = ", ".join(f"{dtype}[{','.join(map(str, shape))}] x{i}" for i, shape in enumerate(shapes))
    names = ", ".join(f"x{i}" for i in range(len(shapes)))
    text = f'g ({inputs}) => ({dtype}[] y) {{ y = Einsum <equation = "{equation}"> ({names}) }}'
    return sx.Session(parse_model(text.replace("[] x", " x"), opset=21), engine="native", threads=1)


def assert_einsum(session: Session, equation: str, shapes: Sequence[Sequence[int]]) -> None:
    draw = np.random.default_rng(4)
    inputs = [draw.integers(-4, 5, shape).astype(F) for shape in shapes]
    actual = session.run({f"x{i}": x for i, x in enumerate(inputs)})["y"]
    expected = sx.Session(session.model, engine="reference").run({f"x{i}": x for i, x in enumerate(inputs)})[
        "y"
    ]
    np.testing.assert_array_equal(actual, expected, strict=True)


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
def test_sizes_are_constant(equation: str, shapes: list[tuple[int, ...]]) -> None:
    session = open_einsum(equation, shapes)
    assert session.stats.fallback_nodes == 0
    assert_einsum(session, equation, shapes)


@pytest.mark.parametrize(
    ("equation", "names"),
    [
        ("bhid,bhjd->bhij", ["B4I8", "B4J8"]),
        ("bijc,cd->bdij", ["BIJ5", "56"]),
        ("bnchw,bcn->bhw", ["B34HW", "B43"]),
        ("bchw,bkc->bkhw", ["BCHW", "BKC"]),
        ("ab,bc,cd->ad", ["AB", "BC", "CD"]),
        ("i,ij,j->", ["I", "IJ", "J"]),
        ("...ij,...jk->...ik", ["XIJ", "XJK"]),
    ],
)
def test_sizes_are_open(equation: str, names: list[str]) -> None:
    """names: a letter for each open size, a digit for each other."""
    session = open_einsum(equation, names)
    assert session.stats.fallback_nodes == 0
    for turn in range(3):
        letters = [name for name in dict.fromkeys("".join(names)) if name.isalpha()]
        sizes = {name: turn + 2 + i for i, name in enumerate(letters)}
        assert_einsum(session, equation, [tuple(sizes.get(n, 0) or int(n) for n in shape) for shape in names])
    assert not session.stats.bailouts


def test_sizes_that_may_differ_are_left_to_the_reference_kernel() -> None:
    session = open_einsum("ij,jk->ik", [("I", "J"), ("K", "L")])
    assert session.stats.fallback_nodes == 1
    assert_einsum(session, "ij,jk->ik", [(3, 4), (4, 5)])
    with pytest.raises(sx.EvaluationError, match="must have one size"):
        session.run({"x0": np.zeros((2, 3), F), "x1": np.zeros((4, 2), F)})


def test_diagonals_of_open_sizes_are_left_to_the_reference_kernel() -> None:
    session = open_einsum("bii->bi", ["BII"])
    assert session.stats.fallback_nodes == 1
    assert_einsum(session, "bii->bi", [(2, 3, 3)])


def test_integers_are_left_to_the_reference_kernel() -> None:
    session = open_einsum("ij,jk->ik", [(2, 2), (2, 2)], "int8")
    x = np.array([[100, 100], [1, 1]], np.int8)
    np.testing.assert_array_equal(session.run({"x0": x, "x1": x})["y"], x @ x)


def test_several_einsums_of_a_model() -> None:
    text = """g (float[B,3,4] x, float[B,4,5] w) => (float[] y) { a = Einsum <equation = "bij,bjk->bik"> (x, w)
        r = Relu(a)  b = Einsum <equation = "bik->bki"> (r)  y = Einsum <equation = "bki,bil->kl"> (b, x) }"""
    model = parse_model(text)
    native, reference = (sx.Session(model, engine=engine) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    draw = np.random.default_rng(4)
    feeds = {"x": draw.integers(-4, 5, (2, 3, 4)).astype(F), "w": draw.integers(-4, 5, (2, 4, 5)).astype(F)}
    np.testing.assert_array_equal(native.run(feeds)["y"], reference.run(feeds)["y"])
