"""Guards: relations between dims that are not proved, on which a match relies."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.stages import AVX2, model_of, regions_of, stages_of
from models import parse_model
from sardonyx._src.compile.partition import BoundNode, Read, Region, Scope, Write
from sardonyx._src.compile.partition.regions import registry
from sardonyx._src.compile.partition.regions.registry import is_supported
from sardonyx._src.compile.prepare.prepare import prepare_model
from sardonyx._src.compile.program import Guard
from sardonyx._src.ir.dims import Known, dim_min, symbol
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.schema import versions

N, M = symbol("N"), symbol("M")


def scope_of(text: str = "g (float[N,M] x) => (float[N,M] y) { y = Relu (x) }") -> Scope:
    """A scope with the sizes N and M."""
    return Scope(prepare_model(model_of(text), is_supported), AVX2)


# --- the relations ---------------------------------------------------------------------------


def test_dims_that_are_known_to_be_equal_or_different_need_no_guard() -> None:
    scope = scope_of()
    assert scope.guard_equal(N + 1, 1 + N)
    assert not scope.guard_equal(N + 1, N)
    assert not scope.guard_equal(3, 4)
    assert not scope.guards


def test_dims_of_a_common_size_are_guarded() -> None:
    scope = scope_of()
    assert scope.guard_equal(dim_min(N, 512), N)
    assert list(scope.guards) == [Guard(dim_min(N, 512), N)]


def test_unrelated_dims_are_not_taken_as_equal() -> None:
    scope = scope_of()
    assert not scope.guard_equal(N, M)
    assert not scope.guard_equal(N, 4)
    assert not scope.guards


def test_an_unproved_bound_is_guarded() -> None:
    scope = scope_of()
    assert scope.guard_ge(N, 0)
    assert not scope.guard_ge(3, 4)
    assert not scope.guards
    assert scope.guard_ge(N, 4)
    assert [str(guard) for guard in scope.guards] == ["min(N,4) == 4"]


@pytest.mark.parametrize(
    ("size", "whole", "broadcasts", "guards"),
    [
        (1, 5, True, 0),
        (N, N, True, 0),
        (5, 4, False, 0),
        (4, N, False, 0),  # N may be another size, or 1, which would change the dims of the result
        (N, 4, True, 1),
        (N, M, True, 1),
        (N + 1, N, False, 0),
    ],
)
def test_a_dim_broadcasts_if_it_is_equal_or_1(
    size: Known, whole: Known, broadcasts: bool, guards: int
) -> None:
    scope = scope_of()
    assert scope.guard_broadcast(size, whole) is broadcasts
    assert len(scope.guards) == guards


def test_a_broadcast_guard_holds_for_equal_sizes_and_1() -> None:
    scope = scope_of()
    assert scope.guard_broadcast(N, M)
    ((left, right),) = scope.guards
    assert not isinstance(left, int)
    values = {(n, m): left.substitute({"N": n, "M": m}) == right for n in range(4) for m in range(4)}
    assert values == {(n, m): n in (1, m) for n in range(4) for m in range(4)}


# --- regions ---------------------------------------------------------------------------------

SUM = "g (float[N,4] x, float[M,4] s) => (float[K,4] y) { y = Add (x, s) }"


def test_a_region_has_the_guards_of_its_match() -> None:
    (region,) = regions_of(SUM)
    assert len(region.guards) == 2  # N and M are max(N, M) or 1
    assert all({"N", "M"} <= left.symbols() for left, _ in region.guards if not isinstance(left, int))


def test_guards_are_those_of_the_program_each_once() -> None:
    text = """g (float[N,4] x, float[M,4] s) => (float[K,4] y, float[K,4] z) {
      y = Add (x, s)  d = Mul (x, s)  z = CumSum (d, w) }"""
    stages = stages_of(text.replace("s)", "s, int64 w)", 1))
    assert len([guard for region in stages.regions.regions for guard in region.guards]) > 2
    assert len(stages.program.guards) == len(set(stages.program.guards)) == 2


DEQUANTIZED = "a = DequantizeLinear <axis = 0> (x, s)"  # M is N or 1
IN_GRAPH = (
    f"g (uint8[N,4] x, float[M] s) => (int64[2] y, float[N,4] z) {{ {DEQUANTIZED}  y = Shape (a)  z = %s }}"
)
IN_BODY = f"""g (uint8[N,4] x, float[M] s, float[N,4] v, int64 n) => (float[N,4] z, int64[K,2] y) {{
    c = Constant <value = bool {{1}}> ()
    z, y = Loop (n, c, v) <body = b (int64 i, bool c, float[N,4] t) => (bool d, float[N,4] u, int64[2] h)
      {{ d = Identity (c)  {DEQUANTIZED}  h = Shape (a)  u = %s }}> }}"""


@pytest.mark.parametrize(
    ("text", "without", "with_guard"),
    [(IN_GRAPH, "CastLike (x, s)", "Softmax (a)"), (IN_BODY, "Softmax (t)", "Softmax (a)")],
)
def test_guards_of_a_deferred_region_hold_only_if_it_is_executed(
    text: str, without: str, with_guard: str
) -> None:
    """Its shape, which is that of its operand, can be read without its elements."""
    assert stages_of(text % without).program.guards == ()
    (guard,) = stages_of(text % with_guard).program.guards
    assert not isinstance(guard.left, int)
    values = {
        (n, m): guard.left.substitute({"N": n, "M": m}) == guard.right for n in range(4) for m in range(4)
    }
    assert values == {(n, m): m in (1, n) for n in range(4) for m in range(4)}


def test_no_guard_relates_constants_and_static_graphs_have_none() -> None:
    (region,) = regions_of("g (float[3,4] x, float[1,4] s) => (float[3,4] y) { y = Add (x, s) }")
    assert region.guards == ()


SOFTMAX = "", "Softmax", versions("", "Softmax")[-1]


@pytest.mark.parametrize("is_refused", [True, False])
def test_guards_of_a_refused_match_are_dropped(monkeypatch: pytest.MonkeyPatch, is_refused: bool) -> None:
    def match(op: BoundNode, scope: Scope) -> Region[None] | None:
        scope.guard(N, 4)
        x = op.input(0)
        assert x is not None
        return None if is_refused else Region("Guarded", (op.node,), None, (Read(x),), (Write(op.output),))

    monkeypatch.setitem(registry.PATTERNS, SOFTMAX, [match])
    (region,) = regions_of("g (float[N,4] x) => (float[N,4] y) { y = Softmax (x) }")
    assert region.guards == (() if is_refused else (Guard(N, 4),))


def test_a_node_that_does_not_fit_an_epilogue_leaves_no_guard() -> None:
    """An Add of another number of rows is guarded where it is fused, and not in the product that refuses it."""
    text = (
        "g (float[N,8] x, float[M,4] s, float[8,4] w) => (float[K,4] y) { a = MatMul (x, w)  y = Add (a, s) }"
    )
    product, addition = regions_of(text)
    assert (product.kind, product.guards) == ("MatMul", ())
    assert len(addition.guards) == 2


# --- runs ------------------------------------------------------------------------------------


def test_a_run_bails_out_where_a_guard_fails() -> None:
    text = "g (float[N,4] x, float[M,4] s) => (float[K,4] y) { y = Add (x, s) }"
    session = sx.Session(parse_model(text), engine="native")
    assert isinstance(session._runner, NativeEngine)
    for n, m in ((3, 3), (1, 3), (3, 1)):
        x, s = np.ones((n, 4), np.float32), np.ones((m, 4), np.float32)
        np.testing.assert_array_equal(session.run({"x": x, "s": s})["y"], x + s)
    assert not session.stats.bailouts
    with pytest.raises(sx.SardonyxError):
        session.run({"x": np.ones((2, 4), np.float32), "s": np.ones((3, 4), np.float32)})
    ((guard, count),) = session.stats.bailouts.items()
    assert count == 1
    assert "max(M,N)" in guard
