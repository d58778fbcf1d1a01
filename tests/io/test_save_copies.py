"""Saving copies ranges of mapped files by whatever means the system has, with equal bytes and without their pages."""

from __future__ import annotations

import errno
import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.io import file_stamps
from sardonyx._src.io.mapped_files import MappedFile
from sardonyx._src.io.saving import file_writer
from sardonyx._src.io.saving.staging import StagedFile
from sardonyx._src.ir import Graph, Model, Tensor, Value
from sardonyx._src.ir.tensors import RawStorage

pytestmark = pytest.mark.usefixtures("long_files")

RANDOM = np.random.default_rng(5)
WEIGHTS = {f"w{i}": RANDOM.standard_normal(n, np.float32) for i, n in enumerate((40_001, 20, 70_003, 16_385))}
CopyFileRange = Callable[..., int]


def model_of(tensors: dict[str, Tensor]) -> Model:
    values = [Value(name, None, tensor) for name, tensor in tensors.items()]
    return Model(Graph("g", (), values), ir_version=10, opset_imports={"": 21})


def weights_model() -> Model:
    return model_of({name: Tensor.of(array, name=name) for name, array in WEIGHTS.items()})


def assert_has_weights(path: Path) -> None:
    model = sx.load(path, copy=True)
    for name, array in WEIGHTS.items():
        tensor = model.graph.initializers[name].initializer
        assert isinstance(tensor, Tensor)
        assert tensor.numpy().tobytes() == array.tobytes()


# --- the means of copying ------------------------------------------------------------------------


def by_system(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "copy_file_range"):
        pytest.skip("this system has no copy_file_range")


def by_system_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    by_system(monkeypatch)
    copy: CopyFileRange = os.copy_file_range
    monkeypatch.setattr(os, "copy_file_range", lambda a, b, n, offset: copy(a, b, min(n, 1001), offset))


def refused(number: int) -> Callable[[pytest.MonkeyPatch], None]:
    def prepare(monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: int) -> int:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "copy_file_range", refuse, raising=False)

    return prepare


def by_system_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    by_system(monkeypatch)
    copy: CopyFileRange = os.copy_file_range
    calls = iter(range(10**6))

    def copy_once(a: int, b: int, n: int, offset: int) -> int:
        if next(calls):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return copy(a, b, min(n, 77_777), offset)

    monkeypatch.setattr(os, "copy_file_range", copy_once)


def by_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "copy_file_range", lambda *_: 0, raising=False)


def by_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "copy_file_range", raising=False)


def by_reading_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    by_reading(monkeypatch)
    read = os.preadv
    monkeypatch.setattr(os, "preadv", lambda fd, buffers, offset: read(fd, [buffers[0][:1001]], offset))


def from_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "preadv")


def from_an_unnamed_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MappedFile, "reopen", lambda self: None)


MEANS = [
    by_system,
    by_system_in_parts,
    by_system_at_first,
    by_nothing,
    by_reading,
    by_reading_in_parts,
    from_the_map,
    from_an_unnamed_file,
]
MEANS_BY_NAME = {means.__name__: means for means in MEANS} | {
    errno.errorcode[number]: refused(number) for number in sorted(file_writer.NOT_COPIED)
}


@pytest.fixture(params=MEANS_BY_NAME)
def means(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are small, so that copies take several."""
    monkeypatch.setattr(file_writer, "WRITEBACK_BYTES", 100_000)
    monkeypatch.setattr(file_writer, "WRITE_BLOCK_BYTES", 30_000)
    monkeypatch.setattr(file_writer, "READ_BLOCK_BYTES", 30_000)
    MEANS_BY_NAME[request.param](monkeypatch)


@pytest.mark.usefixtures("means")
@pytest.mark.parametrize("align", [1, 4096])
def test_every_means_copies_the_same_bytes(tmp_path: Path, align: int) -> None:
    inline = io.BytesIO()
    sx.save(weights_model(), inline)
    sx.save(sx.load(inline.getvalue()), tmp_path / "inline.onnx")
    sx.save(sx.load(tmp_path / "inline.onnx"), tmp_path / "b.onnx", external=True, align=align)
    assert_has_weights(tmp_path / "b.onnx")
    sx.save(sx.load(tmp_path / "b.onnx"), tmp_path / "c.onnx", shard_size=300_000, checksum=True)
    assert_has_weights(tmp_path / "c.onnx")  # verifies the checksums
    sx.save(sx.load(tmp_path / "c.onnx"), tmp_path / "d.onnx", external=False)
    assert (tmp_path / "d.onnx").read_bytes() == (tmp_path / "inline.onnx").read_bytes()


@pytest.mark.usefixtures("means")
@pytest.mark.parametrize("external", [True, False])
def test_a_model_is_saved_over_its_own_files_again_and_again(tmp_path: Path, external: bool) -> None:
    sx.save(weights_model(), tmp_path / "m.onnx", external=external)
    model = sx.load(tmp_path / "m.onnx")
    for _ in range(3):
        sx.save(model, tmp_path / "m.onnx", external=external)
        assert_has_weights(tmp_path / "m.onnx")


@pytest.mark.parametrize("replacement", [b"", b"\0" * 600_000, "pipe", "directory", None])
def test_a_file_that_took_the_name_is_not_copied(tmp_path: Path, replacement: bytes | str | None) -> None:
    sx.save(weights_model(), tmp_path / "m.onnx")
    model = sx.load(tmp_path / "m.onnx")
    (tmp_path / "m.onnx").unlink()
    if isinstance(replacement, bytes):
        (tmp_path / "m.onnx").write_bytes(replacement)
    elif replacement == "pipe":
        os.mkfifo(tmp_path / "m.onnx")
    elif replacement == "directory":
        (tmp_path / "m.onnx").mkdir()
    sx.save(model, tmp_path / "n.onnx")
    assert_has_weights(tmp_path / "n.onnx")


def test_a_relative_path_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sx.save(weights_model(), tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)
    model = sx.load("m.onnx")
    monkeypatch.chdir("/")
    tensor = model.graph.initializers["w0"].initializer
    assert isinstance(tensor, Tensor) and isinstance(tensor.storage, RawStorage)
    assert isinstance(tensor.storage.data, memoryview)
    owner = tensor.storage.data.obj
    assert isinstance(owner, MappedFile)
    fd = owner.reopen()
    assert fd is not None
    assert os.pread(fd, 1 << 16, owner.offset_of(tensor.storage.data)) == WEIGHTS["w0"].tobytes()[: 1 << 16]
    os.close(fd)


# --- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_failing_copy_leaves_the_old_files_whole(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sx.save(weights_model(), tmp_path / "m.onnx", external="w")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    model = sx.load(tmp_path / "m.onnx")
    refused(number)(monkeypatch)
    with pytest.raises(OSError, match=f"'{tmp_path / 'w'}'") as e:
        sx.save(model, tmp_path / "m.onnx", external="w")
    assert e.value.errno == number
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.parametrize("copies", [by_system, by_reading])
def test_a_data_file_that_was_truncated_is_an_error(
    tmp_path: Path, copies: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    sx.save(weights_model(), tmp_path / "m.onnx", external="w")
    model = sx.load(tmp_path / "m.onnx")
    value = model.graph.initializers["w0"].initializer
    assert isinstance(value, Tensor)
    value.numpy()  # maps the file
    os.truncate(tmp_path / "w", 100_000)
    monkeypatch.setattr(MappedFile, "require_unchanged", lambda self: None)  # as if truncated afterwards
    copies(monkeypatch)
    with pytest.raises(
        OSError, match="a data file was truncated while the model was saved; load the model again"
    ):
        sx.save(model, tmp_path / "n.onnx", external=False)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx", "w"]


def test_data_that_change_while_they_are_saved_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", -(1 << 62))
    sx.save(weights_model(), tmp_path / "m.onnx", external="w", checksum=True)
    model, write = sx.load(tmp_path / "m.onnx"), StagedFile.write

    def write_and_damage(self: StagedFile, data: bytes | memoryview, /) -> int:
        with (tmp_path / "w").open("r+b") as file:
            file.seek(200_000)
            file.write(b"damage")
        return write(self, data)

    monkeypatch.setattr(StagedFile, "write", write_and_damage)
    with pytest.raises(sx.ExternalDataError, match="the SHA-1 of 'w' must be"):
        sx.save(model, tmp_path / "n.onnx", external="v")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx", "w"]


# --- memory and disk -----------------------------------------------------------------------------


def resident() -> int:
    """Resident bytes of mapped files."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssFile"))


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the system does not report resident memory"
)
@pytest.mark.usefixtures("means")
def test_saving_leaves_no_pages_of_weights_in_memory(tmp_path: Path) -> None:
    sx.save(model_of({"w": Tensor.of(np.ones(1 << 21, np.float32), name="w")}), tmp_path / "m.onnx")
    model = sx.load(tmp_path / "m.onnx")
    before = resident()
    sx.save(model, tmp_path / "n.onnx", external=True, checksum=True)
    sx.save(model, tmp_path / "inline.onnx")
    with (tmp_path / "object.onnx").open("wb") as file:
        sx.save(model, file)
    assert (tmp_path / "object.onnx").read_bytes() == (tmp_path / "inline.onnx").read_bytes()
    assert resident() - before < 1 << 22  # half of the weights


@pytest.mark.parametrize("save_from", ["memory", "file"])
def test_writeback_is_requested_for_every_part_of_a_long_file_once(
    tmp_path: Path, save_from: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[tuple[int, int]] = []

    def note(fd: int, offset: int, size: int, flags: int) -> int:
        requested.append((offset, offset + size))
        return 0

    monkeypatch.setattr(file_writer, "load_sync_file_range", lambda: note)
    monkeypatch.setattr(file_writer, "WRITEBACK_BYTES", 1 << 18)
    monkeypatch.setattr(file_writer, "WRITE_BLOCK_BYTES", 1 << 18)
    model = model_of({"w": Tensor.of(np.ones(1 << 19, np.float32), name="w")})
    if save_from == "file":
        sx.save(model, tmp_path / "m.onnx")
        model = sx.load(tmp_path / "m.onnx")
    requested.clear()
    sx.save(model, tmp_path / "n.onnx", external="w")
    assert requested == [(i << 18, (i + 1) << 18) for i in range(8)]


# --- checksums of saved files --------------------------------------------------------------------


def checksums(path: Path) -> dict[str, str]:
    """The checksum of each initializer's data file, "" if the model states none."""
    return {
        name: getattr(value.initializer.storage, "checksum", "")
        for name, value in sx.load(path).graph.initializers.items()
        if isinstance(value.initializer, Tensor)
    }


def sha1(path: Path) -> str:
    return hashlib.sha1(path.read_bytes()).hexdigest()


def test_data_with_a_checksum_get_that_of_their_new_file(tmp_path: Path) -> None:
    sx.save(weights_model(), tmp_path / "m.onnx", external="w", checksum=True)
    model = sx.load(tmp_path / "m.onnx")
    model.graph.remove_initializer(model.graph.initializers["w2"])
    sx.save(model, tmp_path / "n.onnx")
    assert sha1(tmp_path / "n.onnx.data") != sha1(tmp_path / "w")
    assert set(checksums(tmp_path / "n.onnx").values()) == {sha1(tmp_path / "n.onnx.data"), ""}
    sx.save(model, tmp_path / "n.onnx", checksum=False)
    assert set(checksums(tmp_path / "n.onnx").values()) == {""}


def test_data_without_a_checksum_get_none(tmp_path: Path) -> None:
    sx.save(weights_model(), tmp_path / "m.onnx", external="w")
    sx.save(sx.load(tmp_path / "m.onnx"), tmp_path / "n.onnx")
    assert set(checksums(tmp_path / "n.onnx").values()) == {""}


def test_only_files_with_data_that_had_a_checksum_get_one(tmp_path: Path) -> None:
    sx.save(
        model_of({"a": Tensor.of(WEIGHTS["w0"], name="a")}), tmp_path / "a.onnx", external=True, checksum=True
    )
    first = sx.load(tmp_path / "a.onnx").graph.initializers["a"].initializer
    assert isinstance(first, Tensor)
    model = model_of({"a": first, "b": Tensor.of(WEIGHTS["w2"], name="b")})
    sx.save(model, tmp_path / "m.onnx", external="w", shard_size=1)
    assert checksums(tmp_path / "m.onnx") == {"a": sha1(tmp_path / "w-00001-of-00002"), "b": ""}
    sx.save(model, tmp_path / "m.onnx", external="w")
    assert checksums(tmp_path / "m.onnx") == dict.fromkeys("ab", sha1(tmp_path / "w"))


def test_a_copy_of_a_data_file_is_not_hashed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", -(1 << 62))
    sx.save(weights_model(), tmp_path / "m.onnx", external="w", checksum=True)
    calls = Mock(wraps=hashlib.sha1)
    monkeypatch.setattr(hashlib, "sha1", calls)
    sx.save(sx.load(tmp_path / "m.onnx"), tmp_path / "n.onnx", external="v")
    assert calls.call_count == 1
    assert (tmp_path / "v").read_bytes() == (tmp_path / "w").read_bytes()
    assert set(checksums(tmp_path / "n.onnx").values()) - {""} == {sha1(tmp_path / "v")}


@pytest.mark.parametrize("change", ["gap", "tail", "order", "alignment"])
def test_a_data_file_that_differs_in_gaps_or_order_has_its_own_checksum(tmp_path: Path, change: str) -> None:
    sx.save(weights_model(), tmp_path / "m.onnx", external="w", checksum=True)
    old = sha1(tmp_path / "w")
    with (tmp_path / "w").open("r+b") as file:
        file.seek(
            WEIGHTS["w0"].nbytes if change == "gap" else 0, os.SEEK_SET if change == "gap" else os.SEEK_END
        )
        file.write(b"gap" if change in ("gap", "tail") else b"")
    text = (tmp_path / "m.onnx").read_bytes().replace(old.encode(), sha1(tmp_path / "w").encode())
    (tmp_path / "m.onnx").write_bytes(text)
    model = sx.load(tmp_path / "m.onnx")
    if change == "order":
        values = list(model.graph.initializers.values())
        model = Model(Graph("g", (), values[::-1]), ir_version=10, opset_imports={"": 21})
    sx.save(model, tmp_path / "n.onnx", external="v", align=64 if change == "alignment" else 4096)
    assert sha1(tmp_path / "v") != sha1(tmp_path / "w")
    assert set(checksums(tmp_path / "n.onnx").values()) - {""} == {sha1(tmp_path / "v")}
