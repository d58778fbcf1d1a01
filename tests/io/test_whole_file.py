"""Files that are written as a whole."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from public_face import model
from sardonyx._src.io.saving.whole_file import replaced_file


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_block_that_fails_leaves_the_file_of_before(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_bytes(b"before")

    def fail() -> None:
        with replaced_file(path) as file:
            file.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert (path.read_bytes(), files(tmp_path)) == (b"before", ["out.json"])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no device that is always full")
def test_a_device_is_written_directly_and_its_error_names_it() -> None:
    with pytest.raises(OSError, match="/dev/full"), replaced_file("/dev/full") as file:
        file.write(bytes(1 << 16))


def test_links_and_permissions_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"before")
    target.chmod(0o640)
    link.symlink_to(target)
    with replaced_file(link) as file:
        file.write(b"after")
    assert (target.read_bytes(), stat.S_IMODE(target.stat().st_mode)) == (b"after", 0o640)
    assert link.is_symlink()
    assert files(tmp_path) == ["link", "target"]


def test_an_error_of_a_folder_names_the_path(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent"), replaced_file(tmp_path / "absent" / "a"):
        pass


def test_a_certificate_replaces_one_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.json"
    certificate = sx.tools.certify(model(), {"x": np.ones((1, 2), np.float32)}, engine="reference")
    certificate.save(path)
    before = path.read_bytes()

    def refuse(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match=r"c\.json"):
        certificate.save(path)
    assert (path.read_bytes(), files(tmp_path)) == (before, ["c.json"])
