"""Entries of the program cache are on the disk before they count as verified, and no session waits for that."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.linker import features
from sardonyx._src.runtime.identity.records import wait_for_records

pytestmark = pytest.mark.skipif(
    features.saved_program_machine() is None, reason="programs are not saved here"
)
SECONDS = 30.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    wait_for_records()  # threads of earlier tests would write theirs into this folder
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def save(path: Path) -> Path:
    model = parse_model(
        "g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 0, 0, 2}> { y = MatMul(x, w) }"
    )
    sx.save(model, path)
    past = time.time() - 60
    os.utime(path, (past, past))
    return path


def records(folder: Path) -> list[Path]:
    return [path for path in (folder / "verified").glob("*") if path.suffix != ".tmp"]


def wait_for_record(folder: Path) -> None:
    end = time.monotonic() + SECONDS
    while not records(folder) and time.monotonic() < end:
        time.sleep(0.01)


def test_a_session_runs_while_its_entry_is_flushed(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, gate, fsync = save(tmp_path / "model.onnx"), threading.Event(), os.fsync

    def wait_and_flush(fd: int) -> None:
        gate.wait(SECONDS)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", wait_and_flush)
    session = sx.Session(path, engine="native")
    x = np.array([[1, 2]], np.float32)
    assert session.run({"x": x})["y"].tolist() == [[1, 4]]
    assert len([*(folder / "programs").glob("*.sdx")]) == 1
    assert records(folder) == []  # the entry may be damaged after a power loss, and would be hashed
    gate.set()
    wait_for_record(folder)
    assert len(records(folder)) == 1


def test_an_entry_that_changes_before_it_is_flushed_is_not_recorded(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, flushed, fsync = save(tmp_path / "model.onnx"), threading.Event(), os.fsync

    def change_and_flush(fd: int) -> None:
        fsync(fd)
        os.utime(fd, ns=(0, 0))  # the present could be the time at which it was written, by a coarse clock
        flushed.set()

    monkeypatch.setattr(os, "fsync", change_and_flush)
    sx.Session(path, engine="native")
    assert flushed.wait(SECONDS)
    time.sleep(0.2)
    assert records(folder) == []
