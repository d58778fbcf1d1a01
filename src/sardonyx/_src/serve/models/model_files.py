"""The files of a model repository: the models and versions in a folder, which has the layout of Triton and KServe.

    models/<name>/<version>/model.onnx      versions are numbers >= 1
    models/<name>/model.onnx                version 1
    models/<name>.onnx                      version 1
    models/<name>/config.json               optional (`model_config.py`)

A `.sdx` file, a program written by `sardonyx compile`, may replace any `.onnx` file.  A folder of a language model, as
onnxruntime-genai, Optimum and Transformers write it, may be the folder of a model or of a version; a `config.json` in it is
theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.io.file_stamps import FileStamp
from sardonyx._src.serve.models.language.folders import is_language_folder

SUFFIXES = (".onnx", ".sdx")
CONFIG_NAME = "config.json"
MAX_STAMPED_FILES = 4096  # files of a version's folder that are compared for changes


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model: a path for each version, a file or the folder of a language model.

    problem: why the model cannot be served.
    """

    name: str
    versions: Mapping[int, Path] = field(default_factory=dict)
    config: Path | None = None
    problem: str = ""


def scan_repository(folder: Path) -> dict[str, ModelFiles]:
    """The models of a repository by name; hidden files and other kinds of files are ignored.

    Raises OSError for a folder that cannot be read.
    """
    models: dict[str, ModelFiles] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        files = scan_entry(path)
        if files is None:
            continue
        if files.name in models:
            problem = f"{folder} must have one file or folder for the model {files.name!r}; got several"
            files = ModelFiles(files.name, problem=problem)
        models[files.name] = files
    return models


def scan_entry(path: Path) -> ModelFiles | None:
    """The files of the model at a file or folder of the repository; None if it is no model."""
    if path.is_dir():
        return scan_model(path, path.name)
    if path.suffix in SUFFIXES and path.is_file():
        return ModelFiles(path.stem, {1: path})
    return None


def scan_model(folder: Path, name: str) -> ModelFiles:
    """The files of a model in its folder."""
    if is_language_folder(folder):
        return ModelFiles(name, {1: folder})
    config = folder / CONFIG_NAME
    try:
        versions = dict(versions_of(folder))
    except (InputError, OSError) as error:
        return ModelFiles(name, problem=str(error))
    problem = "" if versions else f"{folder} must have model.onnx, model.sdx or folders 1, 2, ... that have"
    return ModelFiles(name, versions, config if config.is_file() else None, problem)


def versions_of(folder: Path) -> Iterator[tuple[int, Path]]:
    """The versions of a model and their files; InputError for files that contradict one another."""
    folders = {int(p.name): p for p in folder.iterdir() if is_version(p.name) and p.is_dir()}
    path = model_file(folder)
    if path is not None and folders:
        raise InputError(f"{folder} must have a model file or folders of versions; got both", name="versions")
    if path is not None:
        yield 1, path
    for version in sorted(folders):
        place = folders[version]
        if (path := place if is_language_folder(place) else model_file(place)) is not None:
            yield version, path


def is_version(name: str) -> bool:
    """Whether a folder's name is the number of a version: decimal, at least 1, without leading zeros."""
    return name.isascii() and name.isdecimal() and not name.startswith("0") and len(name) < 19


def model_file(folder: Path) -> Path | None:
    """`model.onnx` or `model.sdx` in a folder, or else its only file of these kinds."""
    paths = [p for p in sorted(folder.iterdir()) if p.suffix in SUFFIXES and p.is_file()]
    paths = [p for p in paths if p.stem == "model"] or paths
    if len(paths) > 1:
        names = ", ".join(p.name for p in paths)
        raise InputError(f"{folder} must have one model file; got {names}", name="versions")
    return paths[0] if paths else None


def stamps_of(path: Path, config: Path | None) -> tuple[FileStamp, ...]:
    """The stamps of all files that a version consists of: if they are unchanged, it need not be loaded again.

    A model file in a folder of its own is stamped together with the other files of the folder, which may hold its weights, and
    the folder of a language model with all of its files.
    """
    if path.is_dir():
        files = [p for p in sorted(path.rglob("*")) if p.is_file()]
    else:
        is_alone = path.stem != "model" and not is_version(path.parent.name)
        files = [path] if is_alone else [p for p in sorted(path.parent.iterdir()) if p.is_file()]
    files = files[:MAX_STAMPED_FILES]
    if config is not None and config not in files:
        files.append(config)
    return tuple(FileStamp.from_path(str(file)) for file in files)
