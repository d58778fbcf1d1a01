"""Policies for files of external data: attacks that must fail, and legitimate files that must work."""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from descriptors import count_descriptors
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io.external import ExternalFiles, Policy, folders
from sardonyx._src.io.external.folders import Folder

POLICIES = list(Policy)
CONTAINED = [Policy.STRICT, Policy.HUB]


@pytest.fixture(autouse=True, params=["dir_fd", "compared"])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs every test twice: with directory descriptors, and as on a platform without them."""
    if request.param == "dir_fd":
        assert folders.HAS_DIR_FD, "these tests require a system that can open files relative to a directory"
    monkeypatch.setattr(folders, "HAS_DIR_FD", request.param == "dir_fd")
    return str(request.param)


@pytest.fixture(autouse=True)
def no_leaks(tmp_path: Path) -> Iterator[None]:
    before = count_descriptors(tmp_path)
    yield
    assert count_descriptors(tmp_path) == before


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory with a model, and next to it a file that must not be read."""
    (tmp_path / "secret").write_bytes(b"root")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "m.onnx").write_bytes(b"model")
    return tmp_path / "home"


def read(home: Path, location: str, policy: Policy = Policy.HUB, size: int = 4) -> bytes:
    files = ExternalFiles(home / "m.onnx", policy)
    return bytes(files.storage([("location", location)], DataType.UINT8, (size,), "w").view())


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("location", ["w", "./w", "a/b/w", "a//b/./w"])
def test_files_beside_and_below_the_model_are_read(home: Path, location: str, policy: Policy) -> None:
    (home / location).parent.mkdir(parents=True, exist_ok=True)
    (home / location).write_bytes(b"good")
    assert read(home, location, policy) == b"good"


@pytest.mark.parametrize("policy", CONTAINED)
@pytest.mark.parametrize("location", ["../secret", "sub/../../secret", "../home/../secret", "/etc/passwd"])
def test_traversal_is_refused_before_anything_is_opened(home: Path, location: str, policy: Policy) -> None:
    (home / "sub").mkdir()
    files = ExternalFiles(home / "m.onnx", policy)
    with pytest.raises(ExternalDataError, match=r"^w: a location must"):
        files.storage([("location", location)], DataType.UINT8, (4,), "w")


def test_an_absolute_location_is_refused_even_inside(home: Path) -> None:
    (home / "w").write_bytes(b"good")
    with pytest.raises(ExternalDataError, match="is absolute"):
        read(home, str(home / "w"))


def test_trusted_models_may_name_any_file(home: Path) -> None:
    (home / "link").symlink_to("../secret")
    (home / "hard").hardlink_to(home / ".." / "secret")
    for location in ("../secret", str(home.parent / "secret"), "link", "hard"):
        assert read(home, location, Policy.TRUSTED) == b"root"


@pytest.mark.parametrize("policy", CONTAINED)
def test_a_link_out_of_the_directory_is_refused(home: Path, policy: Policy) -> None:
    (home / "w").symlink_to("../secret")
    with pytest.raises(ExternalDataError, match=r"a symbolic link to .*secret"):
        read(home, "w", policy)


@pytest.mark.parametrize("policy", CONTAINED)
def test_a_chain_of_links_counts_by_its_end(home: Path, policy: Policy) -> None:
    (home / "w").symlink_to("inner")
    (home / "inner").symlink_to("../secret")
    with pytest.raises(ExternalDataError, match="a symbolic link to"):
        read(home, "w", policy)


@pytest.mark.parametrize("policy", CONTAINED)
def test_a_link_to_itself_is_refused(home: Path, policy: Policy) -> None:
    (home / "w").symlink_to("w")
    with pytest.raises(ExternalDataError, match="symbolic link"):
        read(home, "w", policy)


@pytest.mark.parametrize("policy", CONTAINED)
@pytest.mark.parametrize("target", ["..", ".", "real"])
def test_a_linked_directory_on_the_way_is_refused(home: Path, target: str, policy: Policy) -> None:
    (home / "real").mkdir()
    for folder in (home.parent, home, home / "real"):
        (folder / "secret").write_bytes(b"root")
    (home / "sub").symlink_to(target, target_is_directory=True)
    with pytest.raises(ExternalDataError, match=r"the path to 'sub/secret' must not contain a symbolic link"):
        read(home, "sub/secret", policy)
    assert read(home, "sub/secret", Policy.TRUSTED) == b"root"


@pytest.mark.parametrize("policy", CONTAINED)
def test_a_hard_link_is_refused(home: Path, policy: Policy) -> None:
    (home / "w").hardlink_to(home.parent / "secret")
    with pytest.raises(ExternalDataError, match=r"must be 1; got 2.*policy=\"trusted\""):
        read(home, "w", policy)


def test_hub_rejects_hard_links_also_through_symlinks_and_for_hard_linked_models(home: Path) -> None:
    (home / "blob").hardlink_to(home.parent / "secret")
    (home.parent / "copy.onnx").hardlink_to(home / "m.onnx")
    (home / "w").symlink_to("blob")
    with pytest.raises(ExternalDataError, match="must be 1; got 2"):
        read(home, "w")


@pytest.mark.parametrize("policy", POLICIES)
def test_a_fifo_is_refused_without_waiting_for_a_writer(home: Path, policy: Policy) -> None:
    os.mkfifo(home / "w")
    with pytest.raises(ExternalDataError, match="'w', a FIFO"):
        read(home, "w", policy)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_socket_is_refused(home: Path, policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as s:
        s.bind("w")
        with pytest.raises(ExternalDataError, match="'w', a socket"):
            read(home, "w", policy)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_directory_is_refused(home: Path, policy: Policy) -> None:
    (home / "w").mkdir()
    with pytest.raises(ExternalDataError, match="'w', a directory"):
        read(home, "w", policy)


def test_a_device_is_refused_even_when_trusted(home: Path) -> None:
    assert stat.S_ISCHR(os.stat("/dev/zero").st_mode)
    with pytest.raises(ExternalDataError, match="'/dev/zero', a device"):
        read(home, "/dev/zero", Policy.TRUSTED)
    (home / "w").symlink_to("/dev/zero")
    with pytest.raises(ExternalDataError, match=", a device"):
        read(home, "w", Policy.TRUSTED)


@pytest.mark.parametrize("policy", CONTAINED)
def test_a_file_where_a_directory_is_named_is_refused(home: Path, policy: Policy) -> None:
    (home / "a").write_bytes(b"file")
    with pytest.raises(ExternalDataError, match="Not a directory"):
        read(home, "a/w", policy)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_missing_file_is_named_with_the_directory_it_belongs_in(home: Path, policy: Policy) -> None:
    with pytest.raises(ExternalDataError) as e:
        read(home, "a/w", policy)
    assert str(e.value) == f"w: 'a/w' must exist in {home}; got no such file; put the data file there"


@pytest.mark.parametrize("policy", POLICIES)
def test_a_name_too_long_for_the_system_is_an_error_of_the_data(home: Path, policy: Policy) -> None:
    with pytest.raises(ExternalDataError, match="cannot be opened: File name too long"):
        read(home, "w" * 3000, policy)


def test_a_file_that_may_not_be_read_is_an_error_of_the_data(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Folder, name: str) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", name)

    monkeypatch.setattr(Folder, "open", refuse)
    (home / "w").write_bytes(b"good")
    with pytest.raises(ExternalDataError, match=r"'w' in .* cannot be opened: Permission denied"):
        read(home, "w")


# --- the cache of the Hugging Face Hub -----------------------------------------------------------


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """A model in the layout of the Hugging Face cache: links in a snapshot directory, the files in `blobs`."""
    blobs = tmp_path / "models--a--b" / "blobs"
    folder = tmp_path / "models--a--b" / "snapshots" / "9f4b" / "onnx"
    blobs.mkdir(parents=True)
    folder.mkdir(parents=True)
    for name, content in (("c6ed", b"model"), ("b879", b"good")):
        (blobs / name).write_bytes(content)
    (folder / "m.onnx").symlink_to("../../../blobs/c6ed")
    (folder / "m.onnx_data").symlink_to("../../../blobs/b879")
    return folder


@pytest.mark.parametrize("policy", [Policy.HUB, Policy.TRUSTED])
def test_the_hub_cache_works(snapshot: Path, policy: Policy) -> None:
    assert read(snapshot, "m.onnx_data", policy) == b"good"


def test_the_hub_cache_works_when_it_is_reached_by_a_link(snapshot: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").symlink_to(snapshot)
    assert read(tmp_path / "cache", "m.onnx_data") == b"good"


def test_the_hub_cache_works_with_data_in_a_subdirectory(snapshot: Path) -> None:
    (snapshot / "data").mkdir()
    (snapshot / "data" / "w").symlink_to("../../../../blobs/b879")
    assert read(snapshot, "data/w") == b"good"


def test_strict_follows_no_link_of_the_cache(snapshot: Path) -> None:
    with pytest.raises(ExternalDataError, match=r'strict policy.*policy="hub"'):
        read(snapshot, "m.onnx_data", Policy.STRICT)


def test_hub_refuses_a_link_that_leaves_the_blobs(snapshot: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"root")
    (snapshot / "w").symlink_to(tmp_path / "secret")
    with pytest.raises(
        ExternalDataError, match=r"must be in the directory of the model file, .*blobs; .*trusted"
    ):
        read(snapshot, "w")


def test_hub_rejects_links_into_blobs_when_the_model_is_elsewhere(snapshot: Path) -> None:
    (snapshot / "m.onnx").unlink()
    (snapshot / "m.onnx").write_bytes(b"model")
    with pytest.raises(ExternalDataError, match="must be in the directory of the model file"):
        read(snapshot, "m.onnx_data")


def test_hub_rejects_a_fifo_through_a_symlink(snapshot: Path) -> None:
    os.mkfifo(snapshot / "../../../blobs/pipe")
    (snapshot / "w").symlink_to("../../../blobs/pipe")
    with pytest.raises(ExternalDataError, match="'w', a FIFO"):
        read(snapshot, "w")


def test_special_files_are_not_even_opened(snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(Folder, "open", lambda self, name: opened.append(name))
    os.mkfifo(snapshot / "../../../blobs/pipe")
    os.mkfifo(snapshot / "pipe")
    (snapshot / "w").symlink_to("../../../blobs/pipe")
    for location in ("w", "pipe"):
        with pytest.raises(ExternalDataError, match=", a FIFO"):
            read(snapshot, location)
    assert opened == []


def test_data_beside_the_real_model_are_hinted_at(snapshot: Path) -> None:
    (snapshot / "m.onnx_data").unlink()
    with pytest.raises(
        ExternalDataError, match=r"or load the model by its resolved path .*blobs/c6ed if its data"
    ):
        read(snapshot, "m.onnx_data")


# --- changes between check and open --------------------------------------------------------------


def swap_after_look(monkeypatch: pytest.MonkeyPatch, name: str, swap: list[Path], looks: int = 1) -> None:
    """Replaces the first path by the second once `name` has been checked `looks` times."""
    look = Folder.status
    seen: list[str] = []

    def status(self: Folder, checked: str) -> os.stat_result:
        status = look(self, checked)
        seen.append(checked)
        if checked == name and seen.count(name) == looks:
            swap[0].rename(swap[0].with_name("old"))
            swap[1].rename(swap[0])
        return status

    monkeypatch.setattr(Folder, "status", status)


@pytest.mark.parametrize("policy", CONTAINED)
def test_a_link_that_replaces_the_file_is_not_followed(
    home: Path, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "w").write_bytes(b"good")
    (home / "evil").symlink_to("../secret")
    swap_after_look(monkeypatch, "w", [home / "w", home / "evil"])
    with pytest.raises(ExternalDataError, match="must not contain a symbolic link"):
        read(home, "w", policy)


@pytest.mark.parametrize("evil", ["link", "other file"])
def test_without_directory_descriptors_the_opened_file_must_be_the_checked_one(
    home: Path, evil: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "HAS_DIR_FD", False)
    (home / "w").write_bytes(b"good")
    if evil == "link":
        (home / "evil").symlink_to("../secret")
    else:
        (home / "evil").write_bytes(b"evil")
    swap_after_look(monkeypatch, "w", [home / "w", home / "evil"], looks=2)
    with pytest.raises(ExternalDataError, match="the file was replaced while it was opened"):
        read(home, "w")


@pytest.mark.parametrize("policy", CONTAINED)
def test_a_link_that_replaces_a_directory_is_not_followed(
    home: Path, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "sub").mkdir()
    (home / "sub" / "secret").write_bytes(b"good")
    (home / "evil").symlink_to("..", target_is_directory=True)
    swap_after_look(monkeypatch, "sub", [home / "sub", home / "evil"])
    with pytest.raises(ExternalDataError):
        read(home, "sub/secret", policy)


def test_a_directory_that_moves_away_while_it_is_walked_stays_the_one_walked(
    home: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    if method == "compared":
        pytest.skip("without open directories the name decides")
    (home / "sub").mkdir()
    (home / "sub" / "w").write_bytes(b"good")
    (home / "other").mkdir()
    (home / "other" / "w").write_bytes(b"evil")
    swap_after_look(monkeypatch, "w", [home / "sub", home / "other"])
    assert read(home, "sub/w") == b"good"


def test_a_fifo_that_replaces_the_file_does_not_hang(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "w").write_bytes(b"good")
    os.mkfifo(home / "evil")
    swap_after_look(monkeypatch, "w", [home / "w", home / "evil"])
    with pytest.raises(ExternalDataError, match=r", a FIFO|was replaced"):
        read(home, "w")
