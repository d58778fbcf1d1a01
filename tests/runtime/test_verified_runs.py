"""Sessions that verify their runs: which runs they compare, and what they raise of a wrong result."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile import pipeline
from sardonyx._src.compile.kernels.elementwise.operator_call import operation_rule
from sardonyx._src.compile.kernels.elementwise.operators import SCALAR_OPERATORS
from sardonyx._src.compile.prepare import prepare
from sardonyx._src.compile.prepare.merge_convolutions import merge_convolutions
from sardonyx._src.compile.program.memory.arena import MemoryPlan
from sardonyx._src.compile.program.memory.memory_plan import plan_memory
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.ir import Model
from sardonyx._src.runtime.runs.native_program import compile_for_host
from sardonyx._src.runtime.session import engine_opening
from sardonyx._src.runtime.session.session import Engine
from sardonyx._src.runtime.verification import verified_programs

F = np.float32
ENGINES: tuple[Engine, ...] = ("auto", "native")
NUMBERS = iter(range(2, 10_000))  # each model has a constant of its own: programs are shared in the process
X = np.random.default_rng(0).standard_normal((3, 16), np.float32)


def chain() -> Model:
    """A product with an epilogue, a Softmax, and an elementwise operation of both."""
    weights = ", ".join(map(str, np.random.default_rng(1).standard_normal(256)))
    text = f"""g (float[N,16] x) => (float[N,16] y) <float[16,16] w = {{{weights}}}, float k = {{{next(NUMBERS)}}}> {{
        [product] a = MatMul(x, w)  [scale] b = Mul(a, k)  [gate] c = Erf(b)  [shift] d = Sub(c, k)
        [weights] e = Softmax(d)  [sum] y = Add(e, d) }}"""
    return parse_model(text)


def break_erf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes native kernels compute another function for Erf."""
    wrong = replace(SCALAR_OPERATORS["Erf"], rule=operation_rule("cos"))
    monkeypatch.setitem(SCALAR_OPERATORS, "Erf", wrong)


def error_of(session: sx.Session, feeds: dict[str, np.ndarray]) -> sx.VerificationError:
    with pytest.raises(sx.VerificationError) as caught:
        session.run(feeds)
    return caught.value


# --- which runs are compared ---------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_run_of_each_set_of_sizes_is_verified(engine: Engine) -> None:
    session = sx.Session(chain(), engine=engine, verify="first")
    for rows in (3, 3, 2, 3, 2, 2, 2, 2):
        session.run({"x": X[:rows]})
    stats = session.stats
    assert (stats.runs, stats.verified_runs, stats.amplified_runs) == (8, 2, 0)
    assert stats.fast_path_runs >= 1 and 0 <= stats.largest_error < 1e-5


def test_every_run_is_verified_on_request() -> None:
    session = sx.Session(chain(), engine="native", verify="every")
    for _ in range(6):
        session.run({"x": X})
    assert session.stats.runs == session.stats.verified_runs == 6 and session.stats.fast_path_runs >= 1


def test_other_sessions_verify_nothing() -> None:
    session = sx.Session(chain())
    session.run({"x": X})
    assert session.stats.verified_runs == 0


def test_sizes_of_sequences_and_of_outputs_are_sizes() -> None:
    text = """g (seq(float[]) s, float[M] x) => (float[] a, int64[1,K] y) <int64 i = {0}> {
        a = SequenceAt(s, i)  y = NonZero(x) }"""
    session = sx.Session(parse_model(text), verify="first", shapes="off")
    x = np.array([1, 0, 2], F)
    for lengths, elements in (((1, 2), x), ((1, 2), x), ((2, 1), x), ((1, 2), x * 0)):
        session.run({"s": [np.ones(n, F) for n in lengths], "x": elements})
    assert session.stats.verified_runs == 3


def test_runs_of_the_reference_engine_are_not_compared() -> None:
    text = "g (float[N] x, float[1] k) => (float[N] y) <float[1] k = {3}> { y = Mul(x, k) }"
    session = sx.Session(parse_model(text), engine="native", verify="first")
    session.run({"x": np.ones(4, F), "k": np.ones(1, F)})  # the program has the default of k as a constant
    assert session.stats.bailouts and session.stats.verified_runs == 0


def test_outputs_of_callers_are_verified() -> None:
    session, out = sx.Session(chain(), engine="native", verify="every"), np.empty((3, 16), F)
    for _ in range(4):
        assert session.run({"x": X}, out={"y": out})["y"] is out
    assert session.stats.verified_runs == 4


def test_a_pickled_session_and_a_forked_child_verify(monkeypatch: pytest.MonkeyPatch) -> None:
    model = chain()
    break_erf(monkeypatch)
    session = sx.Session(model, engine="native", verify="first")
    other = pickle.loads(pickle.dumps(session))
    assert error_of(other, {"x": X}).output == "y"
    child = os.fork()
    if child == 0:
        try:
            session.run({"x": X})
        except sx.VerificationError:
            os._exit(3)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


def test_the_deadline_of_a_run_holds_for_both_engines() -> None:
    """The native engine takes milliseconds for a loop that takes the reference engine seconds."""
    body = "body = b (int64 i, bool c, float[4] s) => (bool d, float[4] t) { d = Identity(c)  t = Add(s, x) }"
    text = f"g (float[4] x, int64 n) => (float[4] y) {{ y = Loop <{body}> (n, , x) }}"
    feeds = {"x": np.full(4, 1e-6, F), "n": np.array(200_000)}
    sx.Session(parse_model(text), engine="native").run(feeds, timeout=0.4)
    session = sx.Session(parse_model(text), engine="native", verify="first")
    with pytest.raises(sx.LimitError, match="timeout"):
        session.run(feeds, timeout=0.4)
    assert session.stats.verified_runs == 0


def test_verification_draws_no_numbers_of_the_session() -> None:
    text = "g (float[N] x) => (float[N] y, float[N] z) { r = RandomNormalLike(x)  y = Add(r, x)  z = Neg(x) }"
    plain, verified = (sx.Session(parse_model(text), seed=5, verify=verify) for verify in ("off", "every"))
    feeds = {"x": np.ones(100, F)}
    for _ in range(3):
        np.testing.assert_array_equal(verified.run(feeds)["y"], plain.run(feeds)["y"])
    assert verified.stats.verified_runs == 3


# --- what is raised ------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_the_node_and_the_step_of_a_wrong_value_are_named(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = chain()
    break_erf(monkeypatch)
    session = sx.Session(model, engine=engine, verify="first")
    error = error_of(session, {"x": X})
    assert (error.output, error.node) == ("y", "node[2] 'gate' (Erf)")
    assert error.step.startswith("step ") and "gate" in error.step
    assert error.error > error.tolerance == 1e-4
    assert "'c' of node[2] 'gate' (Erf)" in str(error) and 'engine="reference"' in str(error)
    assert error_of(session, {"x": X}).node == error.node  # what differs is not known to be right
    assert session.stats.verified_runs == session.stats.fast_path_runs == 0


def test_futures_raise_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    model = chain()
    break_erf(monkeypatch)
    session = sx.Session(model, engine="native", verify="first")
    assert isinstance(session.run_async({"x": X}).exception(), sx.VerificationError)


def test_the_program_that_is_specialized_for_a_branch_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    then, other = "t () => (float[K,16] a) { a = Erf(x) }", "e () => (float[L] b) { b = Reshape(x, s) }"
    text = f"""g (float[N,16] x, bool c) => (float[] y) <int64[1] s = {{-1}}, float k = {{{next(NUMBERS)}}}> {{
        [choice] v = If(c) <then_branch = {then}, else_branch = {other}>  w = Mul(v, k)  y = ReduceSum<keepdims = 0>(w) }}"""
    break_erf(monkeypatch)
    session = sx.Session(parse_model(text), engine="native", verify="first")
    taken = {"x": X, "c": np.array(True)}
    session.run(taken)  # the reference engine interprets the branch
    error = error_of(session, taken)
    assert error.node == "node[0] 'choice' (If)" and error.step.startswith("step ")
    session.run({"x": X[:2], "c": np.array(False)})
    assert session.stats.specializations >= 1 and session.stats.verified_runs == 2


def test_memory_that_is_overwritten_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def overlap(program: Program) -> MemoryPlan:
        plan = plan_memory(program)
        return replace(plan, offsets=dict.fromkeys(plan.offsets, 0))

    text = f"""g (float[16,16] x) => (float[16,16] y) <float k = {{{next(NUMBERS)}}}> {{
        [first] a = Softmax(x)  [second] b = Softmax<axis = 0>(x)  [third] c = MatMul(a, b)  y = Mul(c, k) }}"""
    monkeypatch.setattr(pipeline, "plan_memory", overlap)
    monkeypatch.setattr(pipeline, "verify_memory_plan", lambda *_: None)  # which would reject the plan
    session = sx.Session(parse_model(text), engine="native", verify="first")
    error = error_of(session, {"x": np.random.default_rng(0).standard_normal((16, 16), np.float32)})
    assert error.node == "node[0] 'first' (Softmax)"
    assert "is wrong when it is read" in str(error)


def test_a_wrong_preparation_is_told_from_a_wrong_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def change(model: Model) -> None:
        merge_convolutions(model)
        for node in model.graph.nodes:
            node.op_type = "Cos" if node.name == "gate" else node.op_type

    model = chain()
    monkeypatch.setattr(prepare, "merge_convolutions", change)
    error = error_of(sx.Session(model, engine="native", verify="first"), {"x": X})
    assert error.node == "node[2] 'gate' (Erf)"
    assert error.step == "the preparation of the model, before any step"


def test_a_fault_that_does_not_repeat_has_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    model = chain()
    with monkeypatch.context() as patch:
        break_erf(patch)
        session = sx.Session(model, engine="native", verify="first")
    error = error_of(session, {"x": X})
    assert (error.output, error.node, error.step) == ("y", "", "")
    assert "computes another value" in str(error)


def test_feeds_that_the_reference_engine_refuses_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise sx.EvaluationError("the mask is too short", location="node[0] (MatMul)")

    session = sx.Session(chain(), engine="native", verify="first")
    monkeypatch.setattr(verified_programs, "run_interruptibly", refuse)
    error = error_of(session, {"x": X})
    assert error.node == "node[0] (MatMul)" and "refuses: the mask is too short" in str(error)


# --- rounding ------------------------------------------------------------------------------


@pytest.mark.parametrize("is_fused", [False, True])
def test_a_model_that_amplifies_rounding_errors_passes(is_fused: bool) -> None:
    """Differences of products from those that the reference engine computes: what is left is rounding alone."""
    rng = np.random.default_rng(0)
    x, weights = rng.uniform(0, 1, (64, 1000)).astype(F), ", ".join(map(str, rng.uniform(0, 1, 16_000)))
    output = "" if is_fused else ", float[64,16] s"
    text = f"""g (float[64,1000] x, float[64,16] c) => (float[64,16] y{output}) <float[1000,16] w = {{{weights}}}> {{
        [product] s = MatMul(x, w)  [rest] y = Sub(s, c) }}"""
    model = parse_model(text)
    steps = compile_for_host(model).program.steps
    assert (("product", "rest") in [step.nodes for step in steps]) is is_fused
    sums = sx.Session(model, engine="reference").run({"x": x, "c": np.zeros((64, 16), F)})["y"]
    session = sx.Session(model, engine="native", verify="first")
    assert np.abs(session.run({"x": x, "c": sums})["y"]).max() > 0
    assert (session.stats.verified_runs, session.stats.amplified_runs) == (1, 1)
    assert session.stats.largest_error > 1e-4


# --- options -------------------------------------------------------------------------------


def test_there_must_be_two_engines(tmp_path: Path) -> None:
    with pytest.raises(sx.InputError, match='verify must be "off" for engine="reference"') as caught:
        sx.Session(chain(), engine="reference", verify="first")
    assert caught.value.name == "verify"
    sx.tools.compile(chain(), tmp_path / "m.sdx")
    with pytest.raises(sx.InputError, match="a compiled program without its model") as caught:
        sx.Session(tmp_path / "m.sdx", verify="first")
    assert caught.value.name == "verify"
    with pytest.raises(sx.InputError, match="one of 'off', 'first', 'every'"):
        sx.Session(chain(), verify="last")  # type: ignore[arg-type]


def test_a_session_that_falls_back_to_the_reference_engine_verifies_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also when it is unpickled."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise sx.MissingPackage("llvmlite is not installed", package="llvmlite")

    monkeypatch.setattr(engine_opening, "compile_engine", refuse)
    session = sx.Session(chain(), verify="first")
    other = pickle.loads(pickle.dumps(session))
    for each in (session, other):
        each.run({"x": X})
        assert each.engine == "reference" and each.stats.verified_runs == 0
