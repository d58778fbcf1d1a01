"""HTML formatters of objects, for notebooks: classes look them up in a registry, which `view` fills at the first look-up."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
# Registers the formatters; imported late, since few processes need it.
FORMATTER_MODULE = "sardonyx._src.view.static"
HTML_FORMATTERS: dict[type, Callable[[object], str]] = {}


def formats_html(kind: type[T]) -> Callable[[Callable[[T], str]], Callable[[T], str]]:
    """Registers a function as the formatter of a class, which returns a fragment of HTML."""

    def register(function: Callable[[T], str]) -> Callable[[T], str]:
        HTML_FORMATTERS[kind] = function  # type: ignore[assignment]  # called with objects of this class
        return function

    return register


def format_html(value: object) -> str:
    """The object as a fragment of HTML, by the formatter of its class or of the nearest base class."""
    importlib.import_module(FORMATTER_MODULE)
    kind = next(base for base in type(value).__mro__ if base in HTML_FORMATTERS)
    return HTML_FORMATTERS[kind](value)
