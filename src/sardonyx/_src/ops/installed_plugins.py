"""Plugins: modules that the entry points of the group `sardonyx.plugins` name, and those that are shipped with this package.

The name of an entry point is the domain whose operators its module defines; a module is imported when a model first uses an
operator of that domain which nothing else defines.  Packages whose modules define passes or rules are imported by
`load_installed`, as the command line does.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

from sardonyx._src.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "sardonyx.plugins"
# Modules of this distribution by domain.  They have no entry points, since frozen applications and source trees have none.
SHIPPED = {"com.microsoft": "sardonyx_generation"}
# Modules of entry points that were imported, or are being imported, and those that the command line has imported.
IMPORTED: set[str] = set()


@cache
def entry_points() -> tuple[EntryPoint, ...]:
    """The plugins of all installed packages."""
    from importlib import metadata  # imported here since it needs milliseconds, and few processes use it

    return tuple(metadata.entry_points(group=GROUP))


def import_plugins(domain: str) -> bool:
    """Imports the plugins for a domain; whether there was one that had not been imported."""
    if import_shipped(domain):
        return True
    new = [point for point in entry_points() if point.name == domain and point.value not in IMPORTED]
    for point in new:
        import_plugin(point)
    return bool(new)


def import_shipped(domain: str) -> bool:
    """Imports the plugin that is shipped for a domain; whether there is one that had not been imported."""
    module = SHIPPED.get(domain)
    if module is None or module in IMPORTED:
        return False
    IMPORTED.add(module)
    importlib.import_module(module)
    return True


def has_foreign_plugins() -> bool:
    """Whether a plugin was imported that is not shipped with this package."""
    return not IMPORTED.issubset(SHIPPED.values())


def load_installed() -> tuple[str, ...]:
    """Imports the plugins of all installed packages, and returns the names of their modules.

    Raises InputError for a plugin that cannot be imported.
    """
    for point in entry_points():
        if point.value not in IMPORTED:
            import_plugin(point)
    return tuple(point.value for point in entry_points())


def import_plugin(point: EntryPoint) -> None:
    IMPORTED.add(point.value)
    try:
        point.load()
    except Exception as error:
        IMPORTED.discard(point.value)
        package = point.dist.name if point.dist is not None else "an installed package"
        why = f"{type(error).__name__}: {error}"
        raise InputError(
            f"the plugin {point.value} of {package} cannot be imported: {why}", name=point.name
        ) from error
