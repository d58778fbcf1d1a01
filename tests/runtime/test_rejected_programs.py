"""Programs that a verifier rejects in users' sessions: "auto" answers by the reference engine and says so, "native" refuses."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.compile.layouts.concat_elision import ConcatElision
from sardonyx._src.ir import Array

RNG = np.random.default_rng(5)
COUNT = count(2)  # of the models, so that no session has compiled one before
Feeds = dict[str, Array]


@pytest.fixture(autouse=True)
def tolerant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Defects are made good, as for users."""
    monkeypatch.delenv("SARDONYX_FATAL_DEFECTS", raising=False)


def late_concat() -> tuple[str, Feeds]:
    """A Concat of a part that is computed before the sizes of the other one are bound."""
    late = "v = Reshape(x, shape)  u = Sigmoid(v)"
    text = f"""g (float[B,8,H,W] x, int64[4] shape) => (float[?,?,?,?] y)
        <float[8] w = {{1, 2, 3, 4, 5, 6, 7, {next(COUNT)}}}, int64[4] dims = {{8, 8, 1, 1}}>
        {{ s = InstanceNormalization(x, w, w)  k = ConstantOfShape(dims)  t = Conv(s, k)  {late}  y = Concat <axis = 1> (t, u) }}"""
    x = RNG.standard_normal((2, 8, 6, 4)).astype(np.float32)
    return text, {"x": x, "shape": np.array(x.shape)}


def overlapping_concat() -> tuple[str, Feeds]:
    """A Concat of the results of two kernels."""
    text = f"""g (float[1,8,5,4] x) => (float[1,16,5,4] y) <float[8] w = {{1, 2, 3, 4, 5, 6, 7, {next(COUNT)}}}>
        {{ s = MaxPool <kernel_shape = [1,1]> (x)  t = AveragePool <kernel_shape = [1,1]> (x)  y = Concat <axis = 1> (s, t)  z = Mul(w, w) }}"""
    return text, {"x": RNG.standard_normal((1, 8, 5, 4)).astype(np.float32)}


DEFECTS: dict[str, tuple[str, object, Callable[[], tuple[str, Feeds]]]] = {
    "a placement before its sizes are bound": ("is_bound", lambda *_: True, late_concat),
    "two parts in one slice": ("first_channel", lambda *_: 0, overlapping_concat),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_rejected_program_is_not_run(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, replacement, model = DEFECTS[defect]
    text, feeds = model()
    expected = sx.Session(parse_record(text), engine="reference").run(feeds)["y"]
    monkeypatch.setattr(ConcatElision, function, replacement)
    with pytest.warns(sx.CompilerWarning, match=r"verify \w+.*AssertionError.*please report it") as caught:  # noqa: PT031
        session = sx.Session(parse_record(text), threads=1)
        results = [session.run(feeds)["y"] for _ in range(3)]
    assert len(caught) == 1 and session.engine == "reference"
    assert all(np.array_equal(np.asarray(y), np.asarray(expected)) for y in results)
    [(fault, faults)] = session.stats.compiler_faults.items()
    assert faults == 1 and fault.startswith("verify ")
    with pytest.raises(sx.CompilationError, match="this is a bug in Sardonyx") as refused:
        sx.Session(parse_record(text), engine="native", threads=1)
    assert refused.value.stage in fault and isinstance(refused.value.__cause__, AssertionError)


def test_a_rejected_program_is_not_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session of a file; the next one, of a compiler without the defect, is native."""
    function, replacement, model = DEFECTS["two parts in one slice"]
    text, feeds = model()
    path = tmp_path / "m.onnx"
    sx.save(parse_model(text), path)
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    with monkeypatch.context() as patches, pytest.warns(sx.CompilerWarning, match="verify layouts"):  # noqa: PT031
        patches.setattr(ConcatElision, function, replacement)
        expected = sx.Session(path, threads=1).run(feeds)["y"]
    session = sx.Session(path, threads=1)
    np.testing.assert_array_equal(np.asarray(session.run(feeds)["y"]), np.asarray(expected))
    assert session.engine == "native" and not session.stats.compiler_faults
