"""The search path for operator-set documents: folders in which documents are found by domain and version.

The search path has the folders among the sources given to `load`, and then those of the environment variable
SARDONYX_OPERATOR_SETS.  It is searched only for sets of operators that a model calls and does not define itself; the
first folder with a matching document counts.  Documents are recognized by their contents, or by the suffix `.onnxopset`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sardonyx._src.arguments import require_path
from sardonyx._src.errors import InvalidModel, JsonError
from sardonyx._src.io.loading.environment import environment_folders, sources_of
from sardonyx._src.io.loading.operator_sets import OPSET_MAGIC, OperatorSetSource, load_operator_set

if TYPE_CHECKING:
    from sardonyx._src.ir.operator_set import OperatorSet


DOCUMENT_SUFFIX = ".onnxopset"
TEXT_SUFFIXES = (".onnxtxt", ".txt", ".json")
BINARY_START = b"\x0a\x09" + OPSET_MAGIC.encode()  # field 1 of an OperatorSetProto
TEXT_HEAD = 4096  # first bytes of a text file, in which OPSET_MAGIC is searched
SetKey = tuple[str, int]  # domain and version


def split_sources(
    sources: Iterable[OperatorSetSource],
) -> tuple[list[OperatorSetSource], list[Path]]:
    """The documents among sources of operator sets, and the folders among them, followed by the environment's."""
    documents: list[OperatorSetSource] = []
    folders: list[Path] = []
    for source in sources_of(sources):
        if isinstance(source, str | os.PathLike):
            require_path("operator_sets", source)
            if (path := Path(source)).is_dir():
                folders.append(path)
                continue
        documents.append(source)
    return documents, list(dict.fromkeys((*folders, *environment_folders())))


def find_operator_sets(requested: Iterable[SetKey], folders: Sequence[Path]) -> dict[SetKey, OperatorSet]:
    """The first operator set on the search path for each requested domain and version; those not found are left out.

    Raises DecodeError, TextError, JsonError or InvalidModel for a damaged document in a folder that is searched,
    InvalidModel for two documents of one set in a folder, and OSError.
    """
    missing = set(requested)
    result: dict[SetKey, OperatorSet] = {}
    for folder in folders:
        if not missing:
            break
        in_folder = {key: s for key, s in operator_sets_in(folder).items() if key in missing}
        result |= in_folder
        missing -= in_folder.keys()
    return result


def versions_beside(requested: Iterable[SetKey], folders: Sequence[Path]) -> list[tuple[SetKey, int, Path]]:
    """For each requested set, the versions of its domain on the search path, each with its folder."""
    keys = sorted(set(requested))
    stored = [(folder, key) for folder in folders for key in sorted(operator_sets_in(folder))]
    return [
        (key, version, folder) for key in keys for folder, (domain, version) in stored if domain == key[0]
    ]


def operator_sets_in(folder: Path) -> dict[SetKey, OperatorSet]:
    """The operator sets that have a document in a folder."""
    result: dict[SetKey, OperatorSet] = {}
    paths: dict[SetKey, Path] = {}
    for path in documents_in(folder):
        operator_set = load_document(path)
        key = (operator_set.domain, operator_set.version)
        if key in paths:
            what = (
                f"version {key[1]} of {key[0]!r} must be in one document of the folder; got {paths[key].name}"
            )
            raise InvalidModel(f"{what} and {path.name}", location=str(folder))
        paths[key], result[key] = path, operator_set
    return result


def documents_in(folder: Path) -> Iterator[Path]:
    """The operator-set documents in a folder, sorted by name; other files and folders inside are ignored."""
    for path in sorted(folder.iterdir()):
        if path.is_file() and is_document(path):
            yield path


def is_document(path: Path) -> bool:
    """Whether a file is, or should be, an operator-set document."""
    if path.suffix == DOCUMENT_SUFFIX:
        return True
    with path.open("rb") as file:
        head = file.read(TEXT_HEAD)
    if path.suffix in TEXT_SUFFIXES:
        return OPSET_MAGIC.encode() in head
    return head.startswith(BINARY_START)


def load_document(path: Path) -> OperatorSet:
    """The operator set in a document; errors name the file."""
    try:
        return load_operator_set(path)
    except InvalidModel as error:
        raise InvalidModel(error.why, location=f"{path}: {error.location}") from None
    except JsonError as error:
        raise JsonError(error.why, path=f"{path}: {error.path}") from None
