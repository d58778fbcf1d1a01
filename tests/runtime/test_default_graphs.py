"""Graphs as defaults of function attributes, which may read the parameters of the function."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.io.serde import to_proto
from sardonyx.errors import InvalidModel

Engine: TypeAlias = Literal["reference", "native"]
ENGINES: tuple[Engine, ...] = ("reference", "native")
X = np.array([1, -2], np.float32)
BRANCH = "r = If(c) <then_branch: graph = @t, else_branch = e () => (float[N] e) { e = Identity(m) }>"
FORWARDED = "r = l.G<t: graph = @t>(m, c)"
G = f'<domain: "l", opset_import: ["" : 9]> G <t> (m, c) => (r) {{ {BRANCH} }}'


def model(body: str, reads: str = "a", call: str = "l.F(x, c)") -> sx.ir.Model:
    """The default of `t` clips the parameter `a`, which no node of the body reads last."""
    return sx.from_text(f"""<ir_version: 9, opset_import: ["" : 9, "l" : 1]> g (float[2] x, bool c) => (float[2] y) {{
      z = Neg(x)  y = {call} }}
    <domain: "l", opset_import: ["" : 9, "l" : 1]>
    F <t = gp () => (float[N] p) {{ p = Clip<min = -1.5, max = 1.5>({reads}) }}> (a, c) => (r) {{ m = Abs(a)  {body} }} {G}""")


VARIANTS: dict[str, Callable[[sx.ir.Model], sx.ir.Model]] = {
    "as it is": lambda m: m,
    "inlined": sx.tools.inline,
    "optimized": sx.optimize,
    "converted": lambda m: sx.convert(m, opset=22),
    "as text": lambda m: sx.from_text(sx.to_text(m)),
    "copied": lambda m: m.copy(),
    "inferred": sx.infer,
}


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("body", [BRANCH, FORWARDED], ids=["in a branch", "forwarded"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_default_reads_a_parameter(
    engine: Engine, body: str, variant: Callable[[sx.ir.Model], sx.ir.Model]
) -> None:
    session = sx.Session(variant(model(body)), engine=engine)
    assert session.run({"x": X, "c": np.array(True)})["y"].tolist() == [1, -1.5]
    assert session.run({"x": X, "c": np.array(False)})["y"].tolist() == [1, 2]
    assert sx.check(to_proto.model(variant(model(body)))).ok


@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_replaces_the_default(engine: Engine) -> None:
    call = "l.F<t = own () => (float[N] q) { q = Exp(z) }>(x, c)"
    session = sx.Session(model(BRANCH, call=call), engine=engine)
    np.testing.assert_allclose(session.run({"x": X, "c": np.array(True)})["y"], np.exp(-X), rtol=1e-6)


@pytest.mark.parametrize("reads", ["m", "x", "b"])
def test_a_default_reads_nothing_but_parameters(reads: str) -> None:
    """Neither values of the body, nor of the caller: the references to it may be anywhere in the body."""
    with pytest.raises(
        InvalidModel, match=f"attribute 't'.node.0. .Clip.: input 0 must be a value in scope; got '{reads}'"
    ):
        model(BRANCH, reads)
    record = to_proto.model(model(BRANCH))
    default = record.functions[0].attribute_proto[0].g
    assert default is not None
    default.node[0].input = [reads]
    assert not sx.check(record).ok
