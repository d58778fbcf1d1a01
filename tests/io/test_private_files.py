"""Private files: what others may have written is not opened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sardonyx._src.io import private_files
from sardonyx._src.io.external import folders
from sardonyx._src.io.private_files import NotPrivateError, make_private_folder, open_private_file

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="the system has no owners of files")


@pytest.fixture(autouse=True, params=["dir_fd", "compared"])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs every test twice: with directory descriptors, and as on a platform without them."""
    monkeypatch.setattr(folders, "HAS_DIR_FD", request.param == "dir_fd")


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    make_private_folder(tmp_path / "a" / "b")
    path = tmp_path / "a" / "b" / "entry"
    path.write_bytes(b"code")
    path.chmod(0o644)
    return path


def test_new_folders_are_for_the_user_alone(entry: Path) -> None:
    assert [folder.stat().st_mode & 0o777 for folder in (entry.parent, entry.parent.parent)] == [0o700] * 2
    with open_private_file(entry) as file:
        assert file.read() == b"code"


def test_entries_are_regular_files_and_no_links(entry: Path) -> None:
    entry.with_name("link").symlink_to("entry")
    os.mkfifo(entry.with_name("fifo"))
    entry.with_name("folder").mkdir()
    for name in ("link", "fifo", "folder"):
        with pytest.raises(OSError, match=r"links|regular file"):
            open_private_file(entry.with_name(name))


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_to_is_refused(entry: Path, mode: int) -> None:
    entry.chmod(mode)
    with pytest.raises(NotPrivateError, match=f"others must not have permission to write; got mode {mode:o}"):
        open_private_file(entry)


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o1777])
def test_a_folder_that_others_may_write_to_is_refused(entry: Path, mode: int) -> None:
    entry.parent.chmod(mode)
    for use in (lambda: open_private_file(entry), lambda: make_private_folder(entry.parent)):
        with pytest.raises(NotPrivateError, match=f"got mode {mode:o}; run `chmod go-w`"):
            use()


def test_files_of_other_users_are_refused_and_those_of_root_are_not(
    entry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: entry.stat().st_uid + 1)
    if entry.stat().st_uid:
        with pytest.raises(NotPrivateError, match="its owner must be the user"):
            open_private_file(entry)
    else:
        open_private_file(entry).close()
        monkeypatch.setattr(private_files, "ROOT", -1)
        with pytest.raises(NotPrivateError, match="its owner must be the user 1 or root; got the user 0"):
            open_private_file(entry)
