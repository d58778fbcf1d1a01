"""Lazy models: a session with a cached program loads its model only at first use."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.linker import features
from sardonyx._src.io import file_stamps
from sardonyx._src.runtime.engine import shared_programs
from sardonyx._src.runtime.engine.lazy_model import LazyModel
from sardonyx._src.runtime.saved_programs import disk_cache

pytestmark = pytest.mark.skipif(
    features.saved_program_machine() is None, reason="programs are not saved here"
)

F = np.float32
SCALED = "g (float[N,2] x) => (float[N,2] y) <float[2] w = {%d, 3}> { y = Mul(x, w) }"
DEFAULT = "g (float[2] x, float[2] b) => (float[2] y) <float[2] b = {1, 2}> { y = Add(x, b) }"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder for the test, for which no file is racily clean."""
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", -(1 << 62))


def save_cached_model(path: Path, text: str) -> Path:
    """Saves a model and caches its program, as if in an earlier process; returns the model's path."""
    sx.save(parse_model(text), path)
    sx.Session(path, threads=1)
    shared_programs.SHARED_PROGRAMS.clear()
    disk_cache.OPEN_PROGRAMS.clear()
    return path


def is_model_loaded(session: sx.Session) -> bool:
    return not isinstance(session._dispatch.source, LazyModel) or "model" in vars(session._dispatch.source)


def run_scaled(session: sx.Session) -> list[list[float]]:
    y = session.run({"x": np.ones((1, 2), F)})["y"]
    assert isinstance(y, np.ndarray)
    numbers: list[list[float]] = y.tolist()
    return numbers


def test_a_run_does_not_load_the_model(tmp_path: Path) -> None:
    session = sx.Session(save_cached_model(tmp_path / "m.onnx", SCALED % 2), threads=1)
    assert [run_scaled(session) for _ in range(4)] == [[[2, 3]]] * 4
    assert not is_model_loaded(session)


def test_ports_are_those_of_the_model(tmp_path: Path) -> None:
    path = save_cached_model(tmp_path / "m.onnx", SCALED % 2)
    session, plain = sx.Session(path, threads=1), sx.Session(path, engine="reference")
    assert (session.inputs, session.outputs) == (plain.inputs, plain.outputs)
    assert not is_model_loaded(session)


def test_the_model_is_loaded_at_first_use(tmp_path: Path) -> None:
    session = sx.Session(save_cached_model(tmp_path / "m.onnx", SCALED % 2), threads=1)
    assert [node.op_type for node in session.model.graph.nodes] == ["Mul"]
    assert session.model is session.model


@pytest.mark.parametrize("is_replaced", [False, True])
def test_the_model_is_that_of_the_file_when_it_was_opened(tmp_path: Path, *, is_replaced: bool) -> None:
    path = save_cached_model(tmp_path / "m.onnx", SCALED % 2)
    session = sx.Session(path, threads=1)
    if is_replaced:
        sx.save(parse_model(SCALED % 7), tmp_path / "other.onnx")
        os.replace(tmp_path / "other.onnx", path)
    else:
        path.unlink()
    ((node, (y,)),) = session.trace({"x": np.ones((1, 2), F)})
    assert isinstance(y, np.ndarray) and y.tolist() == [[2, 3]] and node.op_type == "Mul"
    assert run_scaled(session) == [[2, 3]]


def test_a_file_that_was_replaced_has_another_program(tmp_path: Path) -> None:
    path = save_cached_model(tmp_path / "m.onnx", SCALED % 2)
    sx.save(parse_model(SCALED % 7), tmp_path / "other.onnx")
    os.replace(tmp_path / "other.onnx", path)
    assert run_scaled(sx.Session(path, threads=1)) == [[7, 3]]


def test_defaults_of_inputs_load_the_model(tmp_path: Path) -> None:
    session = sx.Session(save_cached_model(tmp_path / "m.onnx", DEFAULT), threads=1)
    assert is_model_loaded(session) and [port.has_default for port in session.inputs] == [False, True]


def test_a_file_in_text_form_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.onnxtxt"
    path.write_text(sx.to_text(parse_model(SCALED % 2)))
    sx.Session(path, threads=1)
    shared_programs.SHARED_PROGRAMS.clear()
    disk_cache.OPEN_PROGRAMS.clear()
    assert run_scaled(sx.Session(path, threads=1)) == [[2, 3]]


def test_invalid_feeds_are_reported(tmp_path: Path) -> None:
    session = sx.Session(save_cached_model(tmp_path / "m.onnx", SCALED % 2), threads=1)
    with pytest.raises(sx.InputError, match="axis 1 must have length 2"):
        session.run({"x": np.ones((1, 3), F)})


def test_a_session_is_pickled_without_loading_its_model(tmp_path: Path) -> None:
    session = sx.Session(save_cached_model(tmp_path / "m.onnx", SCALED % 2), threads=1)
    data = pickle.dumps(session)
    assert not is_model_loaded(session)
    assert run_scaled(pickle.loads(data)) == [[2, 3]]


def test_an_unknown_policy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(sx.InputError, match="nonsense"):
        sx.Session(save_cached_model(tmp_path / "m.onnx", SCALED % 2), policy="nonsense")
