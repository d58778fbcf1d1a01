"""Location of faults: right programs have none, and of a wrong one the operator is found, wherever it is fused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile.half_precision_copies import convert_to_half
from compile.random_layers import sample
from models import parse_model
from sampling import seed_range
from sardonyx._src.compile.kernels.elementwise.operator_call import operation_rule
from sardonyx._src.compile.kernels.elementwise.operators import SCALAR_OPERATORS
from sardonyx._src.dtypes import DataType
from sardonyx._src.interp.run_control import Cancellation, RunControl
from sardonyx._src.ir import Array, Model
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.specialization.program import SpecializedProgram
from sardonyx._src.runtime.verification.fault_location import find_fault
from sardonyx._src.runtime.verification.local_reference import has_few_flips
from sardonyx._src.runtime.verification.verifying_context import Fault

F = np.float32
GRAPHS, GROUP = 40, 10


def locate(model: Model, feeds: dict[str, Array]) -> Fault | None:
    """The fault of a run of the native engine."""
    engine = NativeEngine(model, threads=2)
    outputs = engine.run(feeds)
    control = RunControl(Cancellation())
    return find_fault(
        model, SpecializedProgram((), engine.native), feeds, outputs, engine.limits, control, None
    )


@pytest.mark.parametrize("first", seed_range(0, GRAPHS, GROUP))
@pytest.mark.parametrize("half", [None, DataType.FLOAT16], ids=["float", "float16"])
def test_right_programs_have_no_fault(first: int, half: DataType | None) -> None:
    """Loops, branches, concatenations, layouts and fused operators included."""
    for seed in range(first, first + GROUP):
        graph = sample(seed)
        model, feeds = graph.model, graph.feeds[seed % 3]
        if half is not None:
            model, feeds = (
                convert_to_half(model, half),
                {name: x.astype(half.numpy) for name, x in feeds.items()},
            )
        fault = locate(model, feeds)
        assert fault is None, f"seed {seed}: {fault}"


def test_a_product_that_takes_up_a_scale_is_no_fault() -> None:
    """The weights of the product are scaled when the model is prepared, so that its result has another meaning."""
    text = """g (float[3,2] x) => (float[3,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] s = {2, 3}, float[2] v = {1, 0.5}> {
        a = Gemm(x, w)  b = BatchNormalization(a, s, v, v, s)  c = Softmax(b)  y = Neg(c) }"""
    assert locate(parse_model(text), {"x": np.arange(6, dtype=F).reshape(3, 2)}) is None


NUMBERS = iter(range(2, 10_000))  # each model has a constant of its own: programs are shared in the process
LOOP = """Loop <body = b (int64 i, bool c, float[1,8,5,6] s) => (bool d, float[1,8,5,6] t) {{
    d = Identity(c)  m = Mul(s, k)  t = {op}(m) }}> ({count}, , x)"""
CONTEXTS = {
    "epilogue": "c = Conv<pads = [1, 1, 1, 1]>(x, w)  p = {op}(c)  r = Relu(p)  y = Concat<axis = 1>(r, x)",
    "group": "a = Mul(x, k)  p = {op}(a)  b = Add(p, x)  y = Softmax(b)",
    "quantization": "p = {op}(x)  q = QuantizeLinear(p, s, z)  y = DequantizeLinear(q, s, z)",
    "loop": "y = " + LOOP.replace("{count}", "n"),
    "unrolled loop": "y = " + LOOP.replace("{count}", "three"),
}


@pytest.mark.parametrize("op", ["Tanh", "Sigmoid", "Erf"])
@pytest.mark.parametrize("context", CONTEXTS)
def test_a_wrong_operator_is_found(context: str, op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = ", ".join(map(str, np.random.default_rng(0).standard_normal(8 * 8 * 9)))
    constants = f"float[8,8,3,3] w = {{{weights}}}, float k = {{{next(NUMBERS)}}}, int64 three = {{3}}"
    text = f"""g (float[1,8,5,6] x, int64 n) => (float[1,C,5,6] y) <{constants}, float s = {{0.01}}, uint8 z = {{7}}> {{
        {CONTEXTS[context].format(op=op)} }}"""
    model = parse_model(text)
    wrong = replace(SCALAR_OPERATORS[op], rule=operation_rule("cos"))
    monkeypatch.setitem(SCALAR_OPERATORS, op, wrong)
    x = np.random.default_rng(1).standard_normal((1, 8, 5, 6), F)
    fault = locate(model, {"x": x, "n": np.array(3)})
    assert fault is not None and fault.step.startswith("step ")
    assert ("(Loop)" if context == "loop" else f"({op})") in fault.comparison.node


@pytest.mark.parametrize(
    ("differing", "by", "is_forgiven"), [(0, 1, True), (3, 1, True), (4, 1, False), (1, 2, False)]
)
def test_few_integers_may_be_rounded_to_their_neighbors(differing: int, by: int, is_forgiven: bool) -> None:
    """One of 64, and one more."""
    expected = np.arange(130, dtype=np.uint8)
    actual = expected.copy()
    actual[:differing] += by
    assert has_few_flips(actual, expected) is is_forgiven


def test_values_of_other_kinds_may_not_be_rounded() -> None:
    truth = np.array([True, False])
    assert has_few_flips(~truth[:1], truth[:1])
    assert not has_few_flips(truth[:1], truth)
    assert not has_few_flips(np.zeros(4, F), np.ones(4, F))
    assert not has_few_flips([truth], [truth])
