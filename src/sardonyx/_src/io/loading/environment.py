"""Operator sets as arguments, and the environment variable that names folders with more."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sardonyx._src.arguments import type_name

if TYPE_CHECKING:
    from pathlib import Path

    from sardonyx._src.io.loading.operator_sets import OperatorSetSource

OPERATOR_SETS_VARIABLE = "SARDONYX_OPERATOR_SETS"  # folders with operator-set documents, as in PATH


def environment_folders() -> tuple[Path, ...]:
    """The existing folders in the environment variable SARDONYX_OPERATOR_SETS."""
    words = [word for word in os.environ.get(OPERATOR_SETS_VARIABLE, "").split(os.pathsep) if word]
    if not words:
        return ()
    from pathlib import Path  # lazy: most processes have no such folders, and `load` needs no paths

    return tuple(path for word in words if (path := Path(word)).is_dir())


def sources_of(sources: object) -> tuple[OperatorSetSource, ...]:
    """The elements of the argument `operator_sets`; raises TypeError for anything but a list of them."""
    if isinstance(sources, str | bytes | os.PathLike) or not isinstance(sources, Iterable):
        raise TypeError(
            f"operator_sets must be a list of documents and folders, as [path]; got {type_name(sources)}"
        )
    return tuple(sources)
