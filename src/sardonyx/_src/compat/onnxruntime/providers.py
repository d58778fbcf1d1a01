"""Execution providers: here only CPUExecutionProvider exists."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from sardonyx._src.arguments import items_of

AVAILABLE = ["CPUExecutionProvider"]


def get_available_providers() -> list[str]:
    """The providers that sessions can have."""
    return list(AVAILABLE)


get_all_providers = get_available_providers


def check_providers(providers: Sequence[object] | None) -> None:
    """Logs a warning for providers that do not exist here; raises ValueError for entries that are not names.

    providers: names, or pairs of a name and options.
    """
    for entry in () if providers is None else items_of("providers", providers, object, "names"):
        name = entry[0] if isinstance(entry, tuple) and entry else entry
        if not isinstance(name, str):
            raise ValueError(f"providers must be names, or pairs of a name and options; got {entry!r}")
        if name not in AVAILABLE:
            what = f"there is no provider {name!r}; sessions run on {', '.join(AVAILABLE)}"
            warnings.warn(what, UserWarning, stacklevel=4)
