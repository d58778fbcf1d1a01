"""A session of a file whose program is kept does not look at the model, and hands it out all the same."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import model
from sardonyx._src.compile.saved import features
from sardonyx._src.runtime import kept, unchanged
from sardonyx._src.runtime.deferred import Deferred

pytestmark = pytest.mark.skipif(features.machine() is None, reason="programs are not saved here")

F = np.float32
SCALED = "g (float[N,2] x) => (float[N,2] y) <float[2] w = {%d, 3}> { y = Mul(x, w) }"
DEFAULT = "g (float[2] x, float[2] b) => (float[2] y) <float[2] b = {1, 2}> { y = Add(x, b) }"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of the test's own, in which files count as settled at once."""
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(unchanged, "TICK", -(1 << 62))


def kept_file(path: Path, text: str) -> Path:
    """A file whose program is kept, as if by an earlier process."""
    sx.save(model(text), path)
    sx.Session(path, threads=1)
    unchanged.COMPILED.clear()
    kept.MAPPED.clear()
    return path


def is_looked_at(session: sx.Session) -> bool:
    return not isinstance(session._given, Deferred) or "model" in vars(session._given)


def scaled(session: sx.Session) -> list[list[float]]:
    found = session.run({"x": np.ones((1, 2), F)})["y"]
    assert isinstance(found, np.ndarray)
    numbers: list[list[float]] = found.tolist()
    return numbers


def test_a_run_looks_at_no_model(tmp_path: Path) -> None:
    session = sx.Session(kept_file(tmp_path / "m.onnx", SCALED % 2), threads=1)
    assert [scaled(session) for _ in range(4)] == [[[2, 3]]] * 4
    assert not is_looked_at(session)


def test_ports_are_those_of_the_model(tmp_path: Path) -> None:
    path = kept_file(tmp_path / "m.onnx", SCALED % 2)
    session, plain = sx.Session(path, threads=1), sx.Session(path, engine="reference")
    assert (session.inputs, session.outputs) == (plain.inputs, plain.outputs)
    assert not is_looked_at(session)


def test_the_model_is_there_for_whoever_asks(tmp_path: Path) -> None:
    session = sx.Session(kept_file(tmp_path / "m.onnx", SCALED % 2), threads=1)
    assert [node.op_type for node in session.model.graph.nodes] == ["Mul"]
    assert session.model is session.model


@pytest.mark.parametrize("is_replaced", [False, True])
def test_the_model_is_that_of_the_file_as_it_was(tmp_path: Path, *, is_replaced: bool) -> None:
    path = kept_file(tmp_path / "m.onnx", SCALED % 2)
    session = sx.Session(path, threads=1)
    if is_replaced:
        sx.save(model(SCALED % 7), tmp_path / "other.onnx")
        os.replace(tmp_path / "other.onnx", path)
    else:
        path.unlink()
    ((node, (found,)),) = session.trace({"x": np.ones((1, 2), F)})
    assert isinstance(found, np.ndarray) and found.tolist() == [[2, 3]] and node.op_type == "Mul"
    assert scaled(session) == [[2, 3]]


def test_a_file_that_was_replaced_has_another_program(tmp_path: Path) -> None:
    path = kept_file(tmp_path / "m.onnx", SCALED % 2)
    sx.save(model(SCALED % 7), tmp_path / "other.onnx")
    os.replace(tmp_path / "other.onnx", path)
    assert scaled(sx.Session(path, threads=1)) == [[7, 3]]


def test_defaults_of_inputs_are_looked_at(tmp_path: Path) -> None:
    session = sx.Session(kept_file(tmp_path / "m.onnx", DEFAULT), threads=1)
    assert is_looked_at(session) and [port.has_default for port in session.inputs] == [False, True]


def test_a_file_in_text_form_is_read_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "m.onnxtxt"
    path.write_text(sx.to_text(model(SCALED % 2)))
    sx.Session(path, threads=1)
    unchanged.COMPILED.clear()
    kept.MAPPED.clear()
    assert scaled(sx.Session(path, threads=1)) == [[2, 3]]


def test_wrong_feeds_are_told_as_ever(tmp_path: Path) -> None:
    session = sx.Session(kept_file(tmp_path / "m.onnx", SCALED % 2), threads=1)
    with pytest.raises(sx.InputError, match="axis 1 is declared 2"):
        session.run({"x": np.ones((1, 3), F)})


def test_a_session_is_pickled_without_a_look_at_its_model(tmp_path: Path) -> None:
    session = sx.Session(kept_file(tmp_path / "m.onnx", SCALED % 2), threads=1)
    data = pickle.dumps(session)
    assert not is_looked_at(session)
    assert scaled(pickle.loads(data)) == [[2, 3]]


def test_a_policy_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nonsense"):
        sx.Session(kept_file(tmp_path / "m.onnx", SCALED % 2), policy="nonsense")
