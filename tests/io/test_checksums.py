"""Checksums of external data: verified before data are used, once per version of a file."""

from __future__ import annotations

import hashlib
import io
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

import sardonyx as sx
from descriptors import count_descriptors
from models import parse_model
from sardonyx._src.io import file_stamps
from sardonyx._src.io.external import ExternalFiles, ExternalStorage, verify_checksums
from sardonyx._src.io.external.digests import FILE_DIGESTS
from sardonyx._src.ir import Graph, Model, Tensor, Value
from sardonyx._src.tools.externalise import externalise, internalise

pytestmark = pytest.mark.usefixtures("long_files")

LONG = 1 << 16  # elements; 256 KiB, so that the file is mapped
SHORT = 300
ONES = np.ones(LONG, np.float32)


def save_model(folder: Path, *sizes: int, shards: bool = False) -> Path:
    """A model with tensors of ones, w0, w1, ..., in data files with checksums."""
    values = [
        Value(f"w{i}", None, Tensor.of(np.ones(n, np.float32), name=f"w{i}")) for i, n in enumerate(sizes)
    ]
    model = Model(Graph("g", (), values), ir_version=10, opset_imports={"": 21})
    path = folder / "m.onnx"
    sx.save(model, path, external="w", checksum=True, shard_size=1 if shards else None)
    return path


def overwrite(path: Path, position: int = 0) -> None:
    """Changes one byte of a file in place."""
    with path.open("r+b") as file:
        file.seek(position)
        byte = file.read(1)
        file.seek(position)
        file.write(bytes([byte[0] ^ 1]))


def tensor(model: Model, name: str = "w0") -> Tensor:
    value = model.graph.initializers[name].initializer
    assert isinstance(value, Tensor)
    return value


def sha1(path: Path) -> str:
    return hashlib.sha1(path.read_bytes()).hexdigest()


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is racily clean, although the test has just written it."""
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", -(1 << 62))


@pytest.fixture
def count_hashes(monkeypatch: pytest.MonkeyPatch) -> Mock:
    calls = Mock(wraps=hashlib.sha1)
    monkeypatch.setattr(hashlib, "sha1", calls)
    return calls


# --- damaged data --------------------------------------------------------------------------------

USES: dict[str, Callable[[Model, Path], object]] = {
    "numpy": lambda model, folder: tensor(model).numpy(),
    "save inline": lambda model, folder: sx.save(model, folder / "n.onnx", external=False),
    "save external": lambda model, folder: sx.save(model, folder / "n.onnx", external="v"),
    "save as it was": lambda model, folder: sx.save(model, folder / "n.onnx"),
    "save json": lambda model, folder: sx.save(model, folder / "n.json", external=False),
    "save to a file object": lambda model, folder: sx.save(model, io.BytesIO()),
    "to_json": lambda model, folder: sx.to_json(model),
    "to_text": lambda model, folder: sx.to_text(model),
    "externalise": lambda model, folder: externalise(model, folder / "n.onnx"),
    "internalise": lambda model, folder: internalise(model, folder / "n.onnx"),
}


@pytest.mark.parametrize("size", [SHORT, LONG])
@pytest.mark.parametrize("copy", [False, True], ids=["mapped", "copied"])
@pytest.mark.parametrize("use", USES)
def test_damaged_data_are_never_used(tmp_path: Path, use: str, copy: bool, size: int) -> None:
    path = save_model(tmp_path, size)
    overwrite(tmp_path / "w")
    with pytest.raises(sx.ExternalDataError, match=r"the SHA-1 of 'w' must be"):
        USES[use](sx.load(path, copy=copy), tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx", "w"]


def test_the_error_names_file_tensor_digests_and_cure(tmp_path: Path) -> None:
    path = save_model(tmp_path, SHORT)
    stated = sha1(tmp_path / "w")
    overwrite(tmp_path / "w")
    with pytest.raises(sx.ExternalDataError) as e:
        tensor(sx.load(path)).numpy()
    what = f"graph.initializer[0] 'w0': the SHA-1 of 'w' must be {stated}; got {sha1(tmp_path / 'w')}"
    cure = "use the file that belongs to the model, or pass verify_checksums=False (--no-verify-checksums) to use the"
    assert str(e.value) == f"{what}; {cure} data as they are"


@pytest.mark.parametrize("position", [0, LONG * 4 - 1, LONG * 4, 2 * LONG * 4 - 1])
def test_the_checksum_is_that_of_the_whole_file(tmp_path: Path, position: int) -> None:
    path = save_model(tmp_path, LONG, LONG)
    overwrite(tmp_path / "w", position)
    for name in ("w0", "w1"):
        with pytest.raises(sx.ExternalDataError, match=f"'{name}': the SHA-1 of 'w' must be"):
            tensor(sx.load(path), name).numpy()


def test_bytes_after_the_last_tensor_count(tmp_path: Path) -> None:
    path = save_model(tmp_path, SHORT)
    with (tmp_path / "w").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(sx.ExternalDataError, match="the SHA-1 of 'w'"):
        tensor(sx.load(path)).numpy()


def test_a_truncated_file_is_called_so(tmp_path: Path) -> None:
    path = save_model(tmp_path, LONG)
    os.truncate(tmp_path / "w", 100)
    with pytest.raises(sx.ExternalDataError, match="'w' must have at least 262144 bytes"):
        tensor(sx.load(path)).numpy()


def test_damaged_constants_do_not_decide_shapes(tmp_path: Path) -> None:
    model = parse_model("g (float[6] x) => (float[a,b] y) <int64[2] s = {2, 3}> { y = Reshape(x, s) }")
    sx.save(model, tmp_path / "m.onnx", external="w", threshold=0, checksum=True)
    assert str(sx.infer(sx.load(tmp_path / "m.onnx")).graph.outputs[0].type) == "float[2,3]"
    (tmp_path / "w").write_bytes(np.array([3, 2], np.int64).tobytes())
    assert str(sx.infer(sx.load(tmp_path / "m.onnx")).graph.outputs[0].type) == "float[a,b]"


def test_verification_can_be_left_out(tmp_path: Path) -> None:
    path = save_model(tmp_path, LONG)
    overwrite(tmp_path / "w", 2)
    model = sx.load(path, verify_checksums=False)
    assert tensor(model).numpy()[:2].tolist() == [np.uint32(0x3F810000).view(np.float32), 1]
    sx.save(model, tmp_path / "n.onnx", external=False)
    assert tensor(sx.load(tmp_path / "n.onnx")).numpy()[1] == 1


def test_data_without_checksums_are_used_unverified(tmp_path: Path, count_hashes: Mock) -> None:
    path = save_model(tmp_path, LONG)
    sx.save(sx.load(path), tmp_path / "n.onnx", checksum=False)
    count_hashes.reset_mock()
    tensor(sx.load(tmp_path / "n.onnx")).numpy()
    assert count_hashes.call_count == 0


def test_a_model_is_inspected_without_hashing(tmp_path: Path, count_hashes: Mock) -> None:
    path = save_model(tmp_path, LONG)
    count_hashes.reset_mock()
    assert tensor(sx.load(path)).shape == (LONG,)
    sx.infer(sx.load(path))
    assert count_hashes.call_count == 0


# --- what is stated ------------------------------------------------------------------------------


def stating(folder: Path, checksum: str) -> ExternalStorage:
    files = ExternalFiles(folder / "m.onnx")
    entries = [("location", "w"), ("checksum", checksum)]
    return files.storage(entries, sx.DataType.UINT8, (4,), "graph 't'")


@pytest.mark.parametrize("spelling", [str.lower, str.upper, " {}\n".format])
def test_case_and_blanks_of_the_digest_do_not_matter(tmp_path: Path, spelling: Callable[[str], str]) -> None:
    (tmp_path / "w").write_bytes(b"good")
    assert bytes(stating(tmp_path, spelling(sha1(tmp_path / "w"))).view()) == b"good"


@pytest.mark.parametrize(
    "text", ["0", "x" * 40, "0" * 39, "0" * 41, "0" * 64, "sha1:" + "0" * 40, "/BkxjdExKM4UNE0GZRCpgiadJBs="]
)
def test_a_malformed_checksum_is_an_error_when_data_are_used(tmp_path: Path, text: str) -> None:
    (tmp_path / "w").write_bytes(b"good")
    storage = stating(tmp_path, text)
    with pytest.raises(sx.ExternalDataError) as e:
        storage.view()
    what = f"graph 't': the checksum of external_data must be a SHA-1, 40 hexadecimal digits; got {text!r}"
    assert str(e.value).startswith(f"{what}; correct it, or pass verify_checksums=False")


def test_an_empty_checksum_states_nothing(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"good")
    assert bytes(stating(tmp_path, "").view()) == b"good"


def test_each_stated_checksum_of_a_file_is_verified(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"good")
    files = ExternalFiles(tmp_path / "m.onnx")
    stated = {"right": sha1(tmp_path / "w"), "wrong": "0" * 40}
    tensors = {}
    for name, checksum in stated.items():
        entries = [("location", "w"), ("checksum", checksum)]
        storage = files.storage(entries, sx.DataType.UINT8, (4,), name)
        tensors[name] = Tensor(sx.DataType.UINT8, (4,), storage, name)
    assert bytes(tensors["right"].numpy()) == b"good"
    with pytest.raises(sx.ExternalDataError, match="wrong: the SHA-1"):
        tensors["wrong"].numpy()
    with pytest.raises(sx.ExternalDataError, match="wrong: the SHA-1"):
        verify_checksums(tensors.values())


# --- once per version of a file ------------------------------------------------------------------


@pytest.mark.parametrize("copy", [False, True], ids=["mapped", "copied"])
@pytest.mark.usefixtures("settled")
def test_an_unchanged_file_is_hashed_once_for_all_models(
    tmp_path: Path, copy: bool, count_hashes: Mock
) -> None:
    path = save_model(tmp_path, LONG, LONG)
    count_hashes.reset_mock()
    for _ in range(3):
        model = sx.load(path, copy=copy)
        assert np.array_equal(tensor(model, "w0").numpy(), ONES)
        assert np.array_equal(tensor(model, "w1").numpy(), ONES)
    assert count_hashes.call_count == 1


def test_a_file_written_a_moment_ago_is_hashed_by_each_model(
    tmp_path: Path, count_hashes: Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", 1 << 62)
    path = save_model(tmp_path, LONG, LONG)
    count_hashes.reset_mock()
    for _ in range(2):
        model = sx.load(path)
        for name in ("w0", "w1", "w0"):
            tensor(model, name).numpy()
    assert count_hashes.call_count == 2


@pytest.mark.usefixtures("settled")
def test_a_file_that_was_changed_is_verified_again(tmp_path: Path) -> None:
    path = save_model(tmp_path, LONG)
    model = sx.load(path)
    assert np.array_equal(tensor(model).numpy(), ONES)
    status = (tmp_path / "w").stat()
    overwrite(tmp_path / "w")
    os.utime(tmp_path / "w", ns=(status.st_atime_ns, status.st_mtime_ns))  # as a copy that keeps times does
    for changed in (model, sx.load(path)):
        with pytest.raises(sx.ExternalDataError, match="the SHA-1 of 'w'"):
            tensor(changed).numpy()
    overwrite(tmp_path / "w")
    for restored in (model, sx.load(path)):
        assert np.array_equal(tensor(restored).numpy(), ONES)


@pytest.mark.usefixtures("settled")
def test_copied_data_stay_and_further_copies_are_verified(tmp_path: Path) -> None:
    model = sx.load(save_model(tmp_path, LONG, LONG), copy=True)
    assert np.array_equal(tensor(model, "w0").numpy(), ONES)
    overwrite(tmp_path / "w")
    assert np.array_equal(tensor(model, "w0").numpy(), ONES)
    with pytest.raises(sx.ExternalDataError, match="'w1': the SHA-1 of 'w'"):
        tensor(model, "w1").numpy()


def test_a_file_that_changes_while_it_is_copied_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = sx.load(save_model(tmp_path, LONG), copy=True)
    verify = ExternalStorage.verify

    def verify_and_overwrite(self: ExternalStorage) -> bool:
        verified = verify(self)
        overwrite(tmp_path / "w")
        return verified

    monkeypatch.setattr(ExternalStorage, "verify", verify_and_overwrite)
    with pytest.raises(
        sx.ExternalDataError, match="'w0': 'w' was changed while it was read; load the model again"
    ):
        tensor(model).numpy()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_mapped_file_that_lost_its_name_is_verified_all_the_same(tmp_path: Path, replaced: bool) -> None:
    path = save_model(tmp_path, LONG, LONG)
    model, damaged = sx.load(path), sx.load(path)
    for storage in (tensor(model).storage, tensor(damaged).storage):
        assert isinstance(storage, ExternalStorage)
        storage.files.contents("w", "")  # maps the file
    with (tmp_path / "w").open("r+b") as file:
        (tmp_path / "w").unlink()
        if replaced:
            (tmp_path / "w").write_bytes(b"another file")
        assert np.array_equal(tensor(model).numpy(), ONES)
        file.write(b"x")
        file.flush()
        with pytest.raises(sx.ExternalDataError, match="the SHA-1 of 'w'"):
            tensor(damaged).numpy()


@pytest.mark.usefixtures("settled")
def test_threads_wait_for_the_one_that_hashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save_model(tmp_path, LONG)
    hashed: list[int] = []
    wrapped = hashlib.sha1
    together = threading.Barrier(4)

    def note(*args: object, **options: bool) -> object:
        hashed.append(threading.get_ident())
        threading.Event().wait(0.05)  # the others arrive meanwhile
        return wrapped(*args, **options)  # type: ignore[arg-type]

    def use(_: int) -> bool:
        model = sx.load(path)
        together.wait()
        return np.array_equal(tensor(model).numpy(), ONES)

    monkeypatch.setattr(hashlib, "sha1", note)
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(use, range(4)))
    assert len(hashed) == 1


@pytest.mark.usefixtures("settled")
def test_digests_that_are_remembered_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sardonyx._src.io.external.digests.MAX_DIGESTS", 2)
    model = sx.load(save_model(tmp_path, *[LONG] * 5, shards=True))
    for name in model.graph.initializers:
        tensor(model, name).numpy()
    assert len(FILE_DIGESTS._entries) <= 2


def test_all_files_of_a_model_are_verified_at_once(tmp_path: Path) -> None:
    path = save_model(tmp_path, *[LONG] * 5, shards=True)
    tensors = [tensor(sx.load(path), f"w{i}") for i in range(5)]
    verify_checksums(tensors)
    overwrite(tmp_path / "w-00004-of-00005")
    with pytest.raises(sx.ExternalDataError, match="'w3': the SHA-1 of 'w-00004-of-00005'"):
        verify_checksums([tensor(sx.load(path), f"w{i}") for i in range(5)])


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors in /proc")
def test_hashing_closes_its_descriptors(tmp_path: Path) -> None:
    model = sx.load(save_model(tmp_path, LONG))
    storage = tensor(model).storage
    assert isinstance(storage, ExternalStorage)
    storage.files.contents("w", "")
    before = count_descriptors(tmp_path)
    assert storage.verify()
    assert count_descriptors(tmp_path) == before


def test_the_checker_leaves_checksums_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from sardonyx._src.cli.main import main

    path = save_model(tmp_path, 4096)
    (data,) = (file for file in tmp_path.iterdir() if file != path)
    overwrite(data)
    assert "SX348" in {d.rule for d in sx.check(path).of("error")}
    assert not sx.check(path, verify_checksums=False).of("error")
    assert main(["check", str(path)]) == 1
    assert "SX348" in capsys.readouterr().out
    assert main(["check", str(path), "--no-verify-checksums"]) == 0
    assert "SX348" not in capsys.readouterr().out
