"""Tensors in data files: lazy reads, mapping and sharing."""

from __future__ import annotations

import errno
import gc
import hashlib
import mmap
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import ml_dtypes
import numpy as np
import pytest

from descriptors import count_descriptors
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io.external import ExternalFiles, ExternalStorage, digests
from sardonyx._src.ir import Tensor

pytestmark = pytest.mark.usefixtures("long_files")

LONG = 1 << 17  # bytes; a file of that length is mapped
SHA1_OF_GOOD = "fc19318dd13128ce14344d066510a982269c241b"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "w").write_bytes(bytes(range(256)) * 512)
    (tmp_path / "s").write_bytes(b"\x00\x01\x02\x03\x04\x05\x06\x07")
    (tmp_path / "good").write_bytes(b"good")
    return tmp_path


def u8(files: ExternalFiles, location: str, size: int = 4, **more: str) -> ExternalStorage:
    return files.storage([("location", location), *more.items()], DataType.UINT8, (size,), "graph 'w'")


@pytest.fixture(params=[False, True], ids=["mapped", "copied"])
def files(request: pytest.FixtureRequest, home: Path) -> ExternalFiles:
    return ExternalFiles(home / "m.onnx", copy=request.param)


@pytest.mark.parametrize("location", ["w", "s"])
def test_a_tensor_is_its_bytes_from_its_offset(files: ExternalFiles, location: str) -> None:
    storage = u8(files, location, 3, offset="5", length="3")
    assert bytes(storage.view()) == b"\x05\x06\x07"
    assert storage.array(DataType.UINT8, (3,)).tolist() == [5, 6, 7]


@pytest.mark.parametrize(
    ("dtype", "shape", "offset", "values"),
    [
        (DataType.FLOAT, (), "0", np.array(3.8204714e-37, np.float32)),
        (DataType.INT16, (2, 1), "3", np.array([[0x0403], [0x0605]], np.int16)),
        (DataType.INT4, (3,), "1", np.array([1, 0, 2], ml_dtypes.int4)),
        (DataType.UINT2, (5,), "6", np.array([2, 1, 0, 0, 3], ml_dtypes.uint2)),
        (DataType.BOOL, (2,), "0", np.array([False, True])),
    ],
)
def test_elements_of_any_type_at_any_offset(
    files: ExternalFiles, dtype: DataType, shape: tuple[int, ...], offset: str, values: np.ndarray
) -> None:
    tensor = Tensor(dtype, shape, files.storage([("location", "s"), ("offset", offset)], dtype, shape, "t"))
    assert tensor.numpy().dtype == values.dtype
    assert tensor.numpy().tolist() == values.tolist()


def test_a_model_without_its_data_can_be_inspected(files: ExternalFiles) -> None:
    storage = u8(files, "absent", offset="8", length="4", checksum="da39", basepath="/x")
    fields = (
        storage.location,
        storage.offset,
        storage.length,
        storage.checksum,
        storage.basepath,
        storage.extra,
    )
    assert fields == ("absent", 8, 4, "da39", "/x", ())
    assert repr(storage) == "ExternalStorage('absent', offset=8, 4 bytes)"
    with pytest.raises(ExternalDataError, match="graph 'w': 'absent' must exist in "):
        storage.view()


def test_long_files_are_mapped_and_never_copied(home: Path) -> None:
    files = ExternalFiles(home / "m.onnx")
    storage = u8(files, "w", LONG)
    assert isinstance(storage.view().obj, mmap.mmap)
    second = files.storage([("location", "w"), ("offset", "1")], DataType.FLOAT, (8,), "t")
    arrays = storage.array(DataType.UINT8, (LONG,)), second.array(DataType.FLOAT, (8,))
    assert np.shares_memory(*arrays)
    assert np.shares_memory(arrays[1], second.array(DataType.FLOAT, (8,)))


def test_data_are_read_only(files: ExternalFiles) -> None:
    for location in ("w", "s"):
        assert u8(files, location).view().readonly
        assert not u8(files, location).array(DataType.UINT8, (4,)).flags.writeable


def test_the_basepath_moves_nothing(files: ExternalFiles, home: Path) -> None:
    (home / "sub").mkdir()
    (home / "sub" / "good").write_bytes(b"evil")
    assert bytes(u8(files, "good", basepath=str(home / "sub")).view()) == b"good"


def test_the_data_outlive_resolver_and_file_name(home: Path) -> None:
    view = u8(ExternalFiles(home / "m.onnx"), "w").view()
    (home / "w").unlink()
    gc.collect()
    assert bytes(view) == b"\x00\x01\x02\x03"


def test_a_file_is_opened_once_for_all_its_tensors(files: ExternalFiles, home: Path) -> None:
    for location in ("w", "s"):
        first = u8(files, location)
        first.view()
        (home / "new").write_bytes(b"evil" * LONG)
        (home / "new").rename(home / location)
        assert bytes(u8(files, f"./{location}").view()) == b"\x00\x01\x02\x03"


def test_a_relative_model_path_stays_where_it_was(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    storage = u8(ExternalFiles("m.onnx"), "good")
    monkeypatch.chdir("/")
    assert bytes(storage.view()) == b"good"


def test_a_model_from_no_file_has_no_data_files() -> None:
    storage = u8(ExternalFiles(None), "w")
    with pytest.raises(ExternalDataError, match=r"not loaded from a file.*load the model by its path"):
        storage.view()


def test_a_policy_can_be_given_by_name(home: Path) -> None:
    assert ExternalFiles(home, "strict").policy == "strict"
    with pytest.raises(ValueError, match="lax"):
        ExternalFiles(home, "lax")


# --- sizes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", ["0", "15", "17", "99999999999999"])
def test_a_length_must_be_what_dims_and_type_need(files: ExternalFiles, length: str) -> None:
    with pytest.raises(ExternalDataError) as e:
        files.storage([("location", "w"), ("length", length)], DataType.FLOAT, (2, 2), "graph 'w'")
    what = f"length of float[2,2] must be 16 bytes; got {length}"
    assert str(e.value) == f"graph 'w': {what}; correct the dims or the length"


@pytest.mark.parametrize("offset", ["6", "8", "9", "9223372036854775807"])
def test_data_past_the_end_of_the_file_are_refused(files: ExternalFiles, offset: str) -> None:
    storage = u8(files, "s", 4, offset=offset)
    with pytest.raises(ExternalDataError) as e:
        storage.view()
    what = f"graph 'w': 's' must have at least {int(offset) + 4} bytes for a tensor at offset {offset}; got 8"
    assert str(e.value) == f"{what}; the file is truncated or does not belong to the model"


def test_dims_past_all_memory_fail_by_the_size_of_the_file(files: ExternalFiles) -> None:
    storage = files.storage([("location", "s")], DataType.DOUBLE, (1 << 31, 1 << 31), "w")
    with pytest.raises(
        ExternalDataError,
        match=r"'s' must have at least 36893488147419103232 bytes for a tensor at offset 0; got 8",
    ):
        storage.view()


def test_offsets_go_past_32_bits(files: ExternalFiles, home: Path) -> None:
    with (home / "sparse").open("wb") as file:
        file.seek((5 << 30) - 4)
        file.write(b"last")
    assert bytes(u8(files, "sparse", 4, offset="5368709116").view()) == b"last"


def test_an_empty_tensor_may_be_at_the_end_and_not_past_it(files: ExternalFiles) -> None:
    assert u8(files, "s", 0, offset="8").view().nbytes == 0
    with pytest.raises(ExternalDataError, match="at least 9 bytes for a tensor at offset 9"):
        u8(files, "s", 0, offset="9").view()


def test_an_empty_file_holds_tensors_without_elements(files: ExternalFiles, home: Path) -> None:
    (home / "empty").touch()
    assert u8(files, "empty", 0).array(DataType.UINT8, (0,)).shape == (0,)


def test_strings_cannot_be_external(files: ExternalFiles) -> None:
    with pytest.raises(
        ExternalDataError,
        match="w: an external tensor must not have element type string; got string; store it in string_data",
    ):
        files.storage([("location", "s")], DataType.STRING, (1,), "w")


def test_unknown_keys_are_noted_and_kept(files: ExternalFiles) -> None:
    storage = u8(files, "s", __class__="x", prepacked_0="y")
    assert storage.extra == (("__class__", "x"), ("prepacked_0", "y"))
    assert type(storage) is ExternalStorage
    ignored = "external_data keys that ONNX does not define are ignored"
    assert files.notes == [f"graph 'w': {ignored}: '__class__', 'prepacked_0'"]


def test_many_unknown_keys_make_one_short_note(files: ExternalFiles) -> None:
    entries = [("location", "s"), *((f"key{i}", "") for i in range(1000))]
    files.storage(entries, DataType.UINT8, (4,), "w")
    assert len(files.notes) == 1
    assert files.notes[0].endswith(": 'key0', 'key1', 'key2', 'key3' and 996 more")


# --- checksums -----------------------------------------------------------------------------------


@pytest.mark.parametrize("checksum", [SHA1_OF_GOOD, SHA1_OF_GOOD.upper()])
def test_the_checksum_of_the_whole_file_is_verified(files: ExternalFiles, checksum: str) -> None:
    assert u8(files, "good", 2, offset="1", checksum=checksum).verify() is True


def test_a_checksum_of_a_long_file(files: ExternalFiles, home: Path) -> None:
    (home / "w").write_bytes(b"\1" * (digests.BLOCK_BYTES * 2 + 5))
    checksum = hashlib.sha1(b"\1" * (digests.BLOCK_BYTES * 2 + 5)).hexdigest()
    assert u8(files, "w", checksum=checksum).verify() is True


def test_without_a_checksum_nothing_is_verified(files: ExternalFiles) -> None:
    assert u8(files, "absent").verify() is False


@pytest.mark.parametrize("location", ["good", "w"])
def test_a_file_is_hashed_once(
    files: ExternalFiles, home: Path, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    checksum = hashlib.sha1((home / location).read_bytes()).hexdigest()
    calls = Mock(wraps=hashlib.sha1)
    monkeypatch.setattr(hashlib, "sha1", calls)
    assert all(u8(files, location, 1, offset=str(i), checksum=checksum).verify() for i in range(4))
    assert calls.call_count == 1


# --- mapped or copied ----------------------------------------------------------------------------


def test_copied_data_survive_the_file_being_cut_short(home: Path) -> None:
    storage = u8(ExternalFiles(home / "m.onnx", copy=True), "w", LONG)
    storage.view()
    os.truncate(home / "w", 1)
    assert bytes(storage.view()[-2:]) == b"\xfe\xff"


def test_data_cut_off_before_they_were_copied_are_an_error(home: Path) -> None:
    files = ExternalFiles(home / "m.onnx", copy=True)
    u8(files, "w").view()
    os.truncate(home / "w", 6)
    with pytest.raises(ExternalDataError, match="'w' was truncated after it was opened"):
        u8(files, "w", offset="4").view()


def test_copies_are_made_once(home: Path) -> None:
    storage = u8(ExternalFiles(home / "m.onnx", copy=True), "w", LONG)
    assert not isinstance(storage.view().obj, mmap.mmap)
    assert np.shares_memory(storage.array(DataType.UINT8, (LONG,)), storage.array(DataType.UINT8, (LONG,)))


@pytest.mark.parametrize("size", [4, LONG])
def test_a_file_cut_short_while_it_is_opened_is_an_error(
    home: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "w").write_bytes(bytes(size))
    fstat = os.fstat

    def truncate_afterwards(fd: int) -> os.stat_result:
        status = fstat(fd)
        os.truncate(home / "w", 1)
        return status

    monkeypatch.setattr(os, "fstat", truncate_afterwards)
    with pytest.raises(ExternalDataError, match=r"'w' in .* cannot be opened: the file was truncated"):
        u8(ExternalFiles(home / "m.onnx"), "w").view()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors in /proc")
def test_short_files_hold_no_descriptors(files: ExternalFiles, home: Path) -> None:
    for i in range(20):
        (home / f"bias{i}").write_bytes(b"good")
    assert all(bytes(u8(files, f"bias{i}").view()) == b"good" for i in range(20))
    assert count_descriptors(home) == 0


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors in /proc")
def test_long_files_close_their_descriptors_with_the_last_tensor(home: Path) -> None:
    for copy in (False, True):
        storage = u8(ExternalFiles(home / "m.onnx", copy=copy), "w")
        storage.view()
        assert count_descriptors(home) == 1
        del storage
    assert count_descriptors(home) == 0


def test_too_many_open_files_is_said_with_a_cure(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(ExternalDataError, match=r"too many open files; raise the limit, or save the model"):
        u8(ExternalFiles(home / "m.onnx"), "w").view()


def test_threads_share_a_resolver(files: ExternalFiles) -> None:
    def read(i: int) -> bytes:
        return bytes(u8(files, "w", 1024, offset=str(i)).view())

    data = bytes(range(256)) * 6
    with ThreadPoolExecutor(8) as pool:
        chunks = list(pool.map(read, range(256)))
    assert chunks == [data[i : i + 1024] for i in range(256)]
