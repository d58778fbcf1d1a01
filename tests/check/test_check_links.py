"""Links in place of external data: `check` reports an error exactly where `load` refuses the data."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Tensor

LAYOUTS: dict[
    str, tuple[Callable[[Path], object], bool, list[str]]
] = {  # what the data file becomes, whether it can be used, and the diagnostics
    "file": (lambda folder: None, True, []),
    "link inside the folder": (lambda folder: link(folder, "blob"), True, ["warning SX354"]),
    "link into a subfolder": (lambda folder: link(folder, "sub/blob"), False, ["error SX354"]),
    "link outside": (lambda folder: link(folder, "../blob"), False, ["error SX354"]),
    "dangling link": (lambda folder: dangle(folder / "w"), False, ["error SX350"]),
    "hard link": (lambda folder: os.link(folder / "w", folder / "other"), False, ["error SX354"]),
}


def dangle(path: Path) -> None:
    """Replaces a file by a link to nothing."""
    path.unlink()
    path.symlink_to("x")


def link(folder: Path, target: str) -> None:
    """Moves the data file, and leaves a link."""
    (folder / target).parent.mkdir(exist_ok=True)
    (folder / "w").rename(folder / target)
    (folder / "w").symlink_to(target)


def save_model(folder: Path) -> Path:
    folder.mkdir()
    model = parse_model("g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Add(x, w) }")
    sx.save(model, folder / "m.onnx", external="w", threshold=1)
    return folder / "m.onnx"


def is_usable(path: Path, policy: str) -> bool:
    tensor = sx.load(path, policy=policy).graph.initializers["w"].initializer
    assert isinstance(tensor, Tensor)
    try:
        return bool(np.array_equal(tensor.numpy(), [1, 2, 3, 4]))
    except sx.ExternalDataError:
        return False


def diagnose(path: Path, policy: str) -> list[str]:
    report = sx.check(path, policy=policy)
    return [f"{d.severity} {d.rule}" for d in report.diagnostics if d.rule in ("SX350", "SX354")]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_check_and_load_agree(tmp_path: Path, layout: str) -> None:
    prepare, usable, diagnostics = LAYOUTS[layout]
    path = save_model(tmp_path / "model")
    prepare(path.parent)
    assert (is_usable(path, "hub"), diagnose(path, "hub")) == (usable, diagnostics)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("policy", ["strict", "hub", "trusted"])
def test_an_error_means_that_the_data_cannot_be_used(tmp_path: Path, layout: str, policy: str) -> None:
    path = save_model(tmp_path / "model")
    LAYOUTS[layout][0](path.parent)
    has_error = any(text.startswith("error") for text in diagnose(path, policy))
    assert is_usable(path, policy) is not has_error


def test_links_of_the_hub_layout_are_no_warning(tmp_path: Path) -> None:
    path = save_model(tmp_path / "blobs")
    (tmp_path / "snapshot").mkdir()
    for name in ("m.onnx", "w"):
        (tmp_path / "snapshot" / name).symlink_to(f"../blobs/{name}")
    assert is_usable(tmp_path / "snapshot" / "m.onnx", "hub")
    assert diagnose(tmp_path / "snapshot" / "m.onnx", "hub") == []
    assert diagnose(path, "hub") == []


def test_data_behind_a_link_are_checked_like_others(tmp_path: Path) -> None:
    path = save_model(tmp_path / "model")
    link(path.parent, "blob")
    os.truncate(path.parent / "blob", 8)
    codes = [f"{d.severity} {d.rule}" for d in sx.check(path).diagnostics if d.rule in ("SX345", "SX354")]
    assert sorted(codes) == ["error SX345", "warning SX354"]
