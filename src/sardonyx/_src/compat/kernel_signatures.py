"""Signatures of kernels that other packages' operators are wrapped in."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable


def declare_attributes(kernel: Callable[..., object], attributes: Iterable[str]) -> None:
    """Gives a kernel `(*inputs, **attributes)` a signature with a keyword for each attribute, which engines read."""
    parameters = [inspect.Parameter("inputs", inspect.Parameter.VAR_POSITIONAL)]
    parameters += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in attributes]
    kernel.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by `inspect.signature`
