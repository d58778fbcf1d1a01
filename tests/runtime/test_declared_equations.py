"""The equations of lengths that decide whether the sizes of a run are those that a model declares."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_record
from sardonyx._src.compile.program.encoding.length_equations import LengthEquation, length_equations
from sardonyx._src.ir.dims import dim_max, dim_min, parse, symbol
from sardonyx._src.runtime.declarations.declared_equations import declared_equations
from sardonyx._src.runtime.declarations.inner_declarations import OpenDim, StaticDeclarations
from sardonyx._src.runtime.declarations.shape_policy import ShapePolicy
from sardonyx._src.runtime.engine.engine import NativeEngine

EXP = "y = Exp(x)"
# Inputs, outputs, nodes, and the equations that remain under the policy "inputs", and under "strict".
CASES = [
    ("float[N,3] x", "float[N,3] y", EXP, [], []),
    ("float[N,3] x", "float[M,3] y", EXP, [], []),
    ("float[N] x", "float[5] y", EXP, [(5, {"N": -1})], [(5, {"N": -1})]),
    ("float[3] x, float[N] z", "float[5] y", "y = Exp(x)  w = Neg(z)", None, None),
    ("float[N] x, float[M] z", "float[M] y", EXP, "M - N", "M - N"),
    ("float[N] x, float[M] z", "float[M] y, float[M] w", f"{EXP}  w = Neg(z)", "M - N", "M - N"),
    ("float[N] x, float[M] z", "float[A] y, float[A] w", f"{EXP}  w = Neg(z)", [], "N - M"),
    ('float[N] x, float["2*N"] z', "float[A] y, float[B] w", f"{EXP}  w = Neg(z)", "2*N - z.0", "2*N - z.0"),
    ("float[N] x, float[M] z", "float[P] y", "y = Concat <axis = 0> (x, z)", [], []),
    ("float[N] x, float[M] z", 'float["M+N"] y', "y = Concat <axis = 0> (x, z)", [], []),
    ("float[N,M] x", 'float["M*N"] y', "s = Constant <value_ints = [-1]> ()  y = Reshape(x, s)", [], []),
    ("float[N,M] x", "float[M] y", "s = Constant <value_ints = [-1]> ()  y = Reshape(x, s)", None, None),
]
TERMS = {
    "M - N": (0, {"M": 1, "N": -1}),
    "N - M": (0, {"N": 1, "M": -1}),
    "2*N - z.0": (0, {"N": 2, "z.0": -1}),
}


def equations_of(text: str, policy: ShapePolicy) -> list[tuple[int, dict[str, int]]] | None:
    """The equations of a model as pairs of constant and factors; None if there are none for all lengths."""
    session = sx.Session(parse_record(text, opset=21, ir=10), engine="native", threads=1)
    engine = session._runner
    assert isinstance(engine, NativeEngine)
    program, inner = engine.native.program, engine.declarations
    result = declared_equations(program, session._inputs, session._outputs, inner, policy)
    return None if result is None else [(each.constant, dict(each.factors)) for each in result]


@pytest.mark.parametrize(("inputs", "outputs", "nodes", "lax", "strict"), CASES)
def test_equations(inputs: str, outputs: str, nodes: str, lax: object, strict: object) -> None:
    text = f"g ({inputs}) => ({outputs}) {{ {nodes} }}"
    expected = {"inputs": lax, "off": [], "warn": lax, "strict": strict}
    policies: list[ShapePolicy] = ["inputs", "off", "warn", "strict"]
    for policy in policies:
        terms = expected[policy]
        if isinstance(terms, str):
            terms = [TERMS[terms]]
        assert equations_of(text, policy) == terms


def test_inner_declarations_that_only_some_lengths_satisfy() -> None:
    record = parse_record("g (float[N] x) => (float[N] y) { y = Exp(x) }", opset=21, ir=10)
    session = sx.Session(record, engine="native", threads=1)
    engine = session._runner
    assert isinstance(engine, NativeEngine)
    program, ports = engine.native.program, (session._inputs, session._outputs)
    dims = (OpenDim("value 't' axis 0", "float[4]", 4, parse("N")),)
    for inner in (StaticDeclarations(open_dims=dims), StaticDeclarations(conditional_dims=dims)):
        assert declared_equations(program, *ports, inner, "inputs") is None
        assert declared_equations(program, *ports, inner, "off") == ()
    reported = StaticDeclarations(hold=False, contradictions=(("value 't' axis 0", "wrong"),))
    assert declared_equations(program, *ports, reported, "inputs") == ()


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("N+1", "M", [LengthEquation(1, {"N": 1, "M": -1})]),
        ("3*N", "M+7", [LengthEquation(-7, {"N": 3, "M": -1})]),
        ("N*M", "K", None),
        ("N//2", "K", None),
        ("N+1", "N", None),
        ("20000*N", "K", None),
        ("N+20000", "K", None),
    ],
)
def test_linear_equations(left: str, right: str, expected: list[LengthEquation] | None) -> None:
    equations = length_equations(parse(left), parse(right))
    assert equations == (None if expected is None else (*expected,))


def test_a_size_is_a_maximum_of_itself_and_smaller_sizes() -> None:
    m, n, k = symbol("M"), symbol("N"), symbol("K")
    at_least = LengthEquation(0, {"M": 1, "N": -1}, is_bound=True)
    assert length_equations(m, dim_max(m, n)) == (at_least,)
    assert length_equations(dim_max(3, dim_max(m, n)), m) in permutations_of(
        at_least, LengthEquation(-3, {"M": 1}, is_bound=True)
    )
    assert length_equations(m, dim_min(m, n + 1)) == (LengthEquation(1, {"N": 1, "M": -1}, is_bound=True),)
    assert length_equations(m, dim_max(n, k)) is None
    assert length_equations(m, dim_max(m, n * k)) is None


def permutations_of(*equations: LengthEquation) -> list[tuple[LengthEquation, ...]]:
    return [*permutations(equations)]


def test_runs_whose_sizes_are_not_compared_are_quick() -> None:
    """The cache has more entries than the declaration allows, as a decoder with a buffer is often declared."""
    model = parse_record(
        "g (float[P] x, float[T] m) => (float[T] y, float[T] z) { y = Exp(x) z = Neg(m) }", opset=21, ir=10
    )
    session = sx.Session(model, engine="native", threads=1, shapes="off")
    for length in range(1, 7):
        feeds = {"x": np.ones(9, np.float32), "m": np.ones(length, np.float32)}
        assert session.run(feeds)["y"].shape == (9,)
    assert session.stats.fast_path_runs == 4
