"""Sessions verify the checksums of external data before they use them."""

from __future__ import annotations

import hashlib
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.io import file_stamps
from sardonyx._src.ir import Tensor
from sardonyx._src.runtime.session.session import Engine

pytestmark = pytest.mark.usefixtures("long_files")

ENGINES: list[Engine] = ["reference", "native", "auto"]
SIDE = 160  # the data file has 100 KiB, so that it is mapped
X = np.eye(SIDE, dtype=np.float32)


def save_product(folder: Path) -> Path:
    model = parse_model("g (float[160,160] x) => (float[160,160] y) <float[1] w = {1}> { y = MatMul(x, w) }")
    weights = np.ones((SIDE, SIDE), np.float32)
    model.graph.initializers["w"].initializer = Tensor.of(weights, name="w")
    sx.save(model, folder / "m.onnx", external="w", checksum=True)
    return folder / "m.onnx"


def damage(folder: Path) -> None:
    """Makes the first weight 2 instead of 1."""
    with (folder / "w").open("r+b") as file:
        file.write(np.float32(2).tobytes())


def first_results(session: sx.Session) -> list[float]:
    """The first two results for the unit matrix: the first two weights."""
    y = session.run({"x": X})["y"]
    assert isinstance(y, np.ndarray)
    return [float(number) for number in y[0, :2]]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model; its files are not racily clean."""
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", -(1 << 62))
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    return save_product(tmp_path)


@pytest.mark.parametrize("engine", ENGINES)
def test_damaged_data_are_refused_when_a_session_opens(path: Path, engine: Engine) -> None:
    damage(path.parent)
    for source in (path, sx.load(path)):
        with pytest.raises(sx.ExternalDataError, match="'w': the SHA-1 of 'w' must be"):
            sx.Session(source, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_session_after_the_damage_does_not_reuse_the_program_before_it(path: Path, engine: Engine) -> None:
    with sx.Session(path, engine=engine) as session:
        assert first_results(session) == [1, 1]
        damage(path.parent)
        with pytest.raises(sx.ExternalDataError, match="the SHA-1 of 'w' must be"):
            sx.Session(path, engine=engine)
    with pytest.raises(sx.ExternalDataError, match="the SHA-1 of 'w' must be"):
        sx.Session(path, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_verification_can_be_left_out(path: Path, engine: Engine) -> None:
    damage(path.parent)
    session = sx.Session(path, engine=engine, verify_checksums=False)
    restored = pickle.loads(pickle.dumps(session))
    for each in (session, restored):
        assert first_results(each) == [2, 1]


def test_two_sessions_at_once_hash_the_file_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Mock(wraps=hashlib.sha1)
    monkeypatch.setattr(hashlib, "sha1", calls)
    together = threading.Barrier(2)

    def open_and_run(_: int) -> list[float]:
        together.wait()
        return first_results(sx.Session(path, engine="native"))

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(open_and_run, range(2))) == [[1, 1], [1, 1]]
    assert calls.call_count == 1


def test_a_pickled_model_of_no_file_has_verified_data(path: Path) -> None:
    model = sx.load(path)
    session = sx.Session(model)
    damage(path.parent)
    with pytest.raises(sx.ExternalDataError, match="the SHA-1 of 'w' must be"):
        pickle.dumps(session)


def test_verbs_refuse_damaged_data_unless_told(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(path.parent)
    np.save(path.parent / "x.npy", X)
    run = ["run", str(path), f"x={path.parent / 'x.npy'}", "-o", str(path.parent / "out")]
    compile_program = ["compile", str(path), "-o", str(path.parent / "m.sdx")]
    inline = ["internalise", str(path), "-o", str(path.parent / "n.onnx")]
    for verb in (run, compile_program, inline):
        assert main(verb) == 1
        message = capsys.readouterr().err
        assert message.startswith("sardonyx: ") and "the SHA-1 of 'w' must be" in message
        assert main([*verb, "--no-verify-checksums"]) == 0
        capsys.readouterr()
    assert main(["show", str(path)]) == 0  # reads no data
