"""Formatters of objects for notebooks: a registry that classes ask, and that `view` fills when it is first asked."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
HOME = "sardonyx._src.view.static"  # registers the formatters; few processes need it
HTML_FORMATTERS: dict[type, Callable[[object], str]] = {}


def formats_html(kind: type[T]) -> Callable[[Callable[[T], str]], Callable[[T], str]]:
    """Registers a function as the formatter of a class, which returns a fragment of HTML."""

    def register(function: Callable[[T], str]) -> Callable[[T], str]:
        HTML_FORMATTERS[kind] = function  # type: ignore[assignment]  # called with objects of this class
        return function

    return register


def format_html(value: object) -> str:
    """The object as a fragment of HTML, by the formatter of its class or of the nearest base class."""
    importlib.import_module(HOME)
    kind = next(base for base in type(value).__mro__ if base in HTML_FORMATTERS)
    return HTML_FORMATTERS[kind](value)
