"""Weights of cached programs that are stored once: in the model's file, or in the entry of the general program."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from onnx import numpy_helper

import sardonyx as sx
from sardonyx._src.compile.linker import features
from sardonyx._src.compile.program import Buffer
from sardonyx._src.io import file_stamps, mapped_files
from sardonyx._src.io.mapped_files import MappedFile
from sardonyx._src.io.memory_release import mapped_file_of
from sardonyx._src.ir import Array
from sardonyx._src.runtime.engine import shared_programs
from sardonyx._src.runtime.identity import model_stamps
from sardonyx._src.runtime.identity.model_stamps import ModelStamp, stamp_source
from sardonyx._src.runtime.saved_programs import cache_entries, disk_cache
from sardonyx._src.runtime.saved_programs.cache_entries import read_entry
from sardonyx._src.runtime.saved_programs.constant_files import MIN_BYTES, ConstantFiles
from sardonyx._src.runtime.saved_programs.entry_names import entry_path
from sardonyx._src.runtime.saved_programs.image import ProgramImage

pytestmark = pytest.mark.skipif(
    features.saved_program_machine() is None, reason="programs are not saved here"
)

F = np.float32
DRAW = np.random.default_rng(11)
TABLE = DRAW.standard_normal((2000, 48), np.float32)  # read as it is stored
WEIGHTS = DRAW.standard_normal((48, 3000), np.float32)  # packed into panels
IDS = np.array([3, 999, 0])
START = """
import sys, numpy as np, sardonyx as sx
session = sx.Session(sys.argv[1], engine="native", threads=1)
np.save(sys.argv[2], session.run({"ids": np.array([3, 999, 0]), "c": np.array(False)})["y"])
"""


TEXT = """<ir_version: 10, opset_import: ["" : 21]>
%s (int64[N] ids, bool c) => (float[] y) {
  rows = Gather(table, ids)
  a = MatMul(rows, w)
  b = If <then_branch = t () => (float[?] p) { p = ReduceSum <keepdims = 0>(a, last) },
          else_branch = e () => (float[?,?] q) { q = Neg(a) }>(c)
  y = Relu(b) }"""


def save_model(path: Path, name: str = "g", factor: float = 1.0) -> Path:
    """Rows of a table times a matrix; then, if c, the sums of the rows.  name: of the graph, which moves the weights."""
    model = onnx.parser.parse_model(TEXT % name)
    tensors = {"table": TABLE * F(factor), "w": WEIGHTS, "last": np.array([-1])}
    model.graph.initializer.extend(numpy_helper.from_array(x, name) for name, x in tensors.items())
    path.write_bytes(model.SerializeToString())
    return path


def feeds(condition: bool = False) -> dict[str, Array]:
    return {"ids": IDS, "c": np.array(condition)}


def expected(factor: float = 1.0) -> Array:
    rows = (TABLE[IDS] * F(factor)).astype(np.float64)
    return np.asarray(np.maximum(-rows @ WEIGHTS, 0))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder for the test; all files are mapped, and have stamps that are not racily clean."""
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", -(1 << 62))
    monkeypatch.setattr(model_stamps, "MAX_HASHED_FILE", 0)
    for module, name in ((mapped_files, "READ_UP_TO_BYTES"), (cache_entries, "READ_UP_TO_BYTES")):
        monkeypatch.setattr(module, name, 0)
    return tmp_path / "cache" / "programs"


def start_session(path: Path) -> sx.Session:
    """A session as in a new process: no program is shared with earlier sessions."""
    shared_programs.SHARED_PROGRAMS.clear()
    disk_cache.OPEN_PROGRAMS.clear()
    return sx.Session(path, engine="native", threads=1)


def run(session: sx.Session, condition: bool = False) -> Array:
    return np.asarray(session.run(feeds(condition))["y"])


def compilations(session: sx.Session) -> int:
    return session.stats.compilations


def test_weights_that_need_no_packing_stay_in_the_file_of_the_model(tmp_path: Path, folder: Path) -> None:
    path = save_model(tmp_path / "m.onnx")
    first = start_session(path)
    (entry,) = folder.iterdir()
    assert WEIGHTS.nbytes < entry.stat().st_size < WEIGHTS.nbytes + TABLE.nbytes
    second = start_session(path)
    assert (compilations(first), compilations(second)) == (1, 0)
    np.testing.assert_array_equal(run(first), run(second))
    np.testing.assert_allclose(run(second), expected(), 1e-4, 1e-4)


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_weights_at_any_offset_are_used_where_they_are(length: int, tmp_path: Path) -> None:
    path = save_model(tmp_path / "m.onnx", "g" * length)
    for _ in range(2):
        np.testing.assert_allclose(run(start_session(path)), expected(), 1e-4, 1e-4)


def test_external_data_are_used_where_they_are(tmp_path: Path, folder: Path) -> None:
    save_model(tmp_path / "m.onnx")
    path = tmp_path / "external.onnx"
    sx.save(sx.load(tmp_path / "m.onnx"), path, external="data")
    start_session(path)
    (entry,) = folder.iterdir()
    assert WEIGHTS.nbytes < entry.stat().st_size < WEIGHTS.nbytes + TABLE.nbytes
    second = start_session(path)
    assert compilations(second) == 0
    np.testing.assert_allclose(run(second), expected(), 1e-4, 1e-4)


def test_another_model_of_equal_size_and_time_has_other_weights(tmp_path: Path) -> None:
    path = save_model(tmp_path / "m.onnx")
    before = path.stat()
    start_session(path)
    save_model(path, factor=2)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (before.st_size, before.st_mtime_ns, before.st_ino) == (
        after.st_size,
        after.st_mtime_ns,
        after.st_ino,
    )
    session = start_session(path)
    assert compilations(session) == 1
    np.testing.assert_allclose(run(session), expected(2), 1e-4, 1e-4)


def change(path: Path) -> None:
    save_model(path, factor=3)


@pytest.mark.parametrize("spoil", [change, Path.unlink])
def test_an_entry_is_not_used_without_the_version_of_the_model_that_it_names(
    spoil: Callable[[Path], None], tmp_path: Path, folder: Path
) -> None:
    path = save_model(tmp_path / "m.onnx")
    stamp = stamp_of(path)
    start_session(path)
    entry = entry_path(stamp)
    assert entry is not None and read_entry(entry, ConstantFiles(stamp)) is not None
    spoil(path)
    assert read_entry(entry, ConstantFiles(stamp)) is None
    assert read_entry(entry, ConstantFiles()) is None
    assert [*folder.iterdir()] == [entry]


def test_a_session_notices_that_the_file_of_its_weights_is_overwritten(tmp_path: Path) -> None:
    path = save_model(tmp_path / "m.onnx")
    start_session(path)
    session = start_session(path)
    run(session)
    time.sleep(0.02)
    save_model(path, factor=2)
    with pytest.raises(sx.FileChanged, match="overwritten"):
        run(session)


def test_a_session_outlives_the_name_of_the_file_of_its_weights(tmp_path: Path) -> None:
    path = save_model(tmp_path / "m.onnx")
    start_session(path)
    session = start_session(path)
    path.unlink()
    np.testing.assert_allclose(run(session), expected(), 1e-4, 1e-4)


def test_a_specialized_program_shares_the_weights_of_the_general_one(tmp_path: Path, folder: Path) -> None:
    path = save_model(tmp_path / "m.onnx")
    first = start_session(path)
    results = [run(first) for _ in range(3)]
    general, special = sorted(folder.iterdir(), key=lambda entry: len(entry.stem))
    assert general.stat().st_size > WEIGHTS.nbytes > 2 * special.stat().st_size
    second = start_session(path)
    for result in results:
        np.testing.assert_allclose(result, expected(), 1e-4, 1e-4)
        np.testing.assert_array_equal(run(second), results[-1])
    assert (second.stats.compilations, second.stats.specializations) == (0, 1)
    image = read_general(path)
    assert isinstance(image.code.obj, MappedFile)
    shared = read_entry(special, ConstantFiles(stamp_of(path), (image.code.obj, image.digest)))
    assert shared is not None
    data = [base.data for base in shared.extra_bases if isinstance(base, Buffer)]
    owners = {os.path.basename(owner.stamp.path) for array in data if (owner := mapped_owner(array))}
    assert owners == {"m.onnx", general.name}


def mapped_owner(data: Array | None) -> MappedFile | None:
    owner = None if data is None or data.nbytes < MIN_BYTES else mapped_file_of(data)
    return owner if isinstance(owner, MappedFile) else None


def test_a_specialized_program_is_not_used_with_another_general_one(tmp_path: Path, folder: Path) -> None:
    path = save_model(tmp_path / "m.onnx")
    first = start_session(path)
    results = [run(first) for _ in range(3)]
    general, special = sorted(folder.iterdir(), key=lambda entry: len(entry.stem))
    stamp, image = stamp_of(path), read_general(path)
    assert isinstance(image.code.obj, MappedFile)
    assert read_entry(special, ConstantFiles(stamp, (image.code.obj, image.digest))) is not None
    assert read_entry(special, ConstantFiles(stamp, (image.code.obj, "0" * 64))) is None
    assert read_entry(special, ConstantFiles(stamp)) is None
    general.unlink()
    again = start_session(path)
    for _ in range(3):
        np.testing.assert_array_equal(run(again), results[-1])


def stamp_of(path: Path) -> ModelStamp:
    stamp = stamp_source(path)
    assert stamp is not None
    return stamp


def read_general(path: Path) -> ProgramImage:
    entry = entry_path(stamp_of(path))
    assert entry is not None
    image = read_entry(entry, ConstantFiles(stamp_of(path)))
    assert image is not None
    return image


def test_a_program_that_a_full_disk_cannot_hold_runs(tmp_path: Path, folder: Path) -> None:
    path = save_model(tmp_path / "m.onnx")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (WEIGHTS.nbytes // 2, hard))
    try:
        session = start_session(path)
        np.testing.assert_allclose(run(session), expected(), 1e-4, 1e-4)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not [*folder.iterdir()]


def test_a_truncated_entry_is_replaced(tmp_path: Path, folder: Path) -> None:
    path = save_model(tmp_path / "m.onnx")
    start_session(path)
    (entry,) = folder.iterdir()
    os.truncate(entry, WEIGHTS.nbytes // 2)
    session = start_session(path)
    assert compilations(session) == 1
    np.testing.assert_allclose(run(session), expected(), 1e-4, 1e-4)
    assert compilations(start_session(path)) == 0


def test_processes_that_start_at_once_leave_one_intact_entry(tmp_path: Path, folder: Path) -> None:
    path = save_model(tmp_path / "m.onnx")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    outputs = [tmp_path / f"{i}.npy" for i in range(2)]
    processes = [
        subprocess.Popen([sys.executable, "-c", START, str(path), str(output)], env=environment)
        for output in outputs
    ]
    assert [process.wait() for process in processes] == [0, 0]
    for output in outputs:
        np.testing.assert_allclose(np.load(output), expected(), 1e-4, 1e-4)
    (entry,) = (entry for entry in folder.iterdir() if entry.suffix == ".sdx")
    assert [*folder.iterdir()] == [entry]
