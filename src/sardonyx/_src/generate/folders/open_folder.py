"""The contents of a path: a folder of one of the known forms, or a file."""

from __future__ import annotations

import os
from pathlib import Path

from sardonyx._src.errors import InputError
from sardonyx._src.generate.folders.contents import FolderContents
from sardonyx._src.generate.folders.genai_folder import FILE, read_genai_folder
from sardonyx._src.generate.folders.transformers_folder import contents_beside, read_transformers_folder


def read_contents(source: str | os.PathLike[str]) -> FolderContents:
    """What a folder, or the folder of a file, says of the model.  Raises InputError for a path that does not exist."""
    path = Path(source)
    if not path.exists():
        raise InputError(f"the path of a model must exist; got {path}", name="source")
    if path.is_dir():
        return read_genai_folder(path) if (path / FILE).exists() else read_transformers_folder(path)
    if (path.parent / FILE).exists():
        described = read_genai_folder(path.parent)
        if described.model == path:
            return described
    return contents_beside(path, path.parent)
