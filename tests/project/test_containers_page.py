"""docs/how_to/containers.md: its Dockerfile fills a cache that a container uses, and its messages are those of the code."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.compile.linker import features
from sardonyx._src.compile.llvm.target_classes import CLASSES
from sardonyx._src.io import file_stamps
from sardonyx._src.runtime.engine import shared_programs
from sardonyx._src.runtime.saved_programs import cache_entries, disk_cache, warming

PAGE = (Path(__file__).resolve().parents[2] / "docs/how_to/containers.md").read_text()
TEXT = "g (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 2}> { a = Add(x, w)  y = Relu(a) }"


def dockerfile() -> list[list[str]]:
    (block,) = re.findall(r"```dockerfile\n(.*?)```", PAGE, re.S)
    return [shlex.split(line) for line in block.splitlines()]


@pytest.mark.skipif(features.saved_program_machine() is None, reason="programs are not saved here")
def test_the_first_session_of_a_container_compiles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The instructions in a folder in place of the image, which is moved before the container starts."""
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", -(1 << 62))
    monkeypatch.setattr("sardonyx._src.runtime.identity.model_stamps.MAX_HASHED_FILE", 0)
    context, image = tmp_path / "context", tmp_path / "image"
    (context / "models").mkdir(parents=True)
    sx.save(parse_model(TEXT), context / "models" / "m.onnx")
    variables: dict[str, str] = {}
    for name, *words in dockerfile():
        if name == "COPY":
            shutil.copytree(context / words[0], f"{image}{words[1]}")
        elif name == "ENV":
            variables |= {word.partition("=")[0]: word.partition("=")[2] for word in words}
            for variable, path in variables.items():
                monkeypatch.setenv(variable, f"{image}{path}")
        elif words[0] == "sardonyx":
            assert main([f"{image}{word}" if word[0] == "/" else word for word in words[1:]]) == 0
    container = tmp_path / "container"
    shutil.copytree(image, container, copy_function=shutil.copyfile)
    for copy in container.rglob("*"):
        copy.chmod(0o755 if copy.is_dir() else 0o644)
    shutil.rmtree(image)
    monkeypatch.setenv("SARDONYX_CACHE", f"{container}{variables['SARDONYX_CACHE']}")
    shared_programs.SHARED_PROGRAMS.clear()
    disk_cache.OPEN_PROGRAMS.clear()
    session = sx.Session(container / "models" / "m.onnx", engine="native", threads=1)
    assert (session.stats.compilations, session.stats.uncached) == (0, "")


def test_the_classes_that_the_page_names_exist() -> None:
    named = set(re.findall(r"x86-64-v[\w-]+", PAGE))
    assert named and named <= {target_class.name for target_class in CLASSES}


def test_the_messages_of_the_page_are_those_of_the_code() -> None:
    messages = re.findall(r"^\| [^|]+ \| `([^`]+)` \|$", PAGE, re.M)
    sources = "".join(Path(str(m.__file__)).read_text() for m in (cache_entries, disk_cache, warming))
    assert len(messages) == 4
    for message in messages:
        fixed = re.split(r"/cache/programs |\d+|: (?:Read-only|No space).*", message)
        assert all(part.strip() in sources for part in fixed), message
    assert os.strerror(28) in PAGE and os.strerror(30) in PAGE
