"""Loggers of modules that seldom have a message: the module `logging` is imported with the first one.

Its import takes longer than all that a session of a small cached program does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from logging import Logger


class LazyLogger:
    """A logger by its name; every attribute is that of the logger."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, attribute: str) -> Any:
        import logging  # lazy: most processes log nothing

        return getattr(logging.getLogger(self.name), attribute)


def get_logger(name: str) -> Logger:
    """The logger of this name, as of `logging.getLogger`."""
    return cast("Logger", LazyLogger(name))
