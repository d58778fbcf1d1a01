"""Attributes that calls forward: the value of the outermost call that gives one, else the outermost default that holds.

A reference to a parameter without value or default is left out, so that the default of the function that is called
holds, and only without one that of the operator (IR.md, "Functions").
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Model
from sardonyx._src.tools.inline import inline

OPERATOR_DEFAULT = 0.01  # of LeakyRelu's alpha
X = np.array([-1, 2], np.float32)
FUNCTION = '<opset_import: ["": 16, "my": 1], domain: "my"> {} <{}> (p) => (q) {{ {} }}'
IN_BRANCH = """c = Constant <value: tensor = bool {{1}}> ()
    q = If (c) <then_branch = t () => (u) {{ u = {} }}, else_branch = e () => (v) {{ v = Neg(p) }}>"""
Defaults = tuple[float | None, float | None, float | None]


def nested_model(given: float | None, defaults: Defaults, *, branches: bool = False) -> Model:
    """A call of `a`, which calls `b`, which calls `c`, which is LeakyRelu; each forwards its parameter `alpha`."""
    bodies = (
        "my.b<alpha: float = @alpha>(p)",
        "my.c<alpha: float = @alpha>(p)",
        "LeakyRelu<alpha: float = @alpha>(p)",
    )
    functions = [
        FUNCTION.format(
            name,
            "alpha" if default is None else f"alpha: float = {default}",
            IN_BRANCH.format(body) if branches else f"q = {body}",
        )
        for name, default, body in zip("abc", defaults, bodies, strict=True)
    ]
    call = "my.a(x)" if given is None else f"my.a<alpha = {given}>(x)"
    lines = [f"g (float[2] x) => (float[2] y) {{ y = {call} }}", *functions]
    return parse_model("\n".join(lines), opset=16, more='"my": 1')


def slope(model: Model, engine: str = "reference") -> float:
    (y,) = sx.Session(model, engine=engine).run({"x": X}).values()  # type: ignore[arg-type]
    return -float(np.asarray(y)[0])


CHAINS = [
    (given, defaults)
    for given in (None, 8.0)
    for defaults in product((None, 0.5), (None, 0.25), (None, 0.125))
]


def expected_slope(given: float | None, defaults: Defaults) -> float:
    return next((value for value in (given, *defaults) if value is not None), OPERATOR_DEFAULT)


@pytest.mark.parametrize("branches", [False, True], ids=["plain", "in branches"])
@pytest.mark.parametrize(("given", "defaults"), CHAINS)
def test_the_first_value_of_a_chain_of_calls_holds(
    given: float | None, defaults: Defaults, branches: bool
) -> None:
    model = nested_model(given, defaults, branches=branches)
    expected = pytest.approx(expected_slope(given, defaults))
    assert slope(model) == expected
    flat = inline(model)
    assert not flat.functions
    assert slope(flat) == expected
    for name in ("my.a", "my.b", "my.c"):
        assert slope(inline(model, [name])) == expected, name
    assert slope(sx.optimize(model)) == expected


@pytest.mark.parametrize(("given", "defaults"), CHAINS)
def test_the_native_engine_takes_the_same_value(given: float | None, defaults: Defaults) -> None:
    assert slope(nested_model(given, defaults), "native") == pytest.approx(expected_slope(given, defaults))


def test_a_call_whose_default_the_callers_of_its_function_decide_stays() -> None:
    model = nested_model(None, (None, 0.25, None))
    result = inline(model, ["my.b"])
    assert [name for _, name, _ in result.functions] == ["a", "b", "c"]
    (note,) = result.notes
    assert note.location == "my.a.node[0] (b)"
    assert "stays: attribute 'alpha' is a parameter of my.a, which its calls may omit" in note.message


def test_functions_below_a_call_that_stays_are_inlined() -> None:
    result = inline(nested_model(None, (None, 0.25, None)), ["my.b", "my.c"])
    kept = {name: [node.op_type for node in f.body.nodes] for (_, name, _), f in result.functions.items()}
    assert kept == {"a": ["b"], "b": ["LeakyRelu"]}


def test_two_references_to_a_parameter_have_defaults_of_their_own() -> None:
    text = """g (float[2] x) => (float[2] y, float[2] z) { y, z = my.f(x) }
    <opset_import: ["": 16, "my": 1], domain: "my"> f <alpha> (p) => (q, r) {
      q = LeakyRelu<alpha: float = @alpha>(p)  r = my.g<alpha: float = @alpha>(p) }
    <opset_import: ["": 16], domain: "my"> g <alpha: float = 0.5> (p) => (q) { q = LeakyRelu<alpha: float = @alpha>(p) }"""
    model = parse_model(text, opset=16, more='"my": 1')
    for result in (model, inline(model), inline(model, ["my.g"]), inline(model, ["my.f"])):
        y, z = sx.Session(result, engine="reference").run({"x": X}).values()
        np.testing.assert_allclose(np.asarray([y, z]), [[-0.01, 2], [-0.5, 2]], rtol=1e-6)
