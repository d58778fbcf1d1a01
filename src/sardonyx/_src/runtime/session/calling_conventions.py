"""Errors for calls of `Session.run` with the arguments of other runtimes: they say what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sardonyx._src.arguments import type_name
from sardonyx._src.runtime.feeds.tables import is_table

COMPATIBLE = "sardonyx.compat.onnxruntime has the interface of onnxruntime"


def refuse_other_convention(feeds: object, outputs: object, inputs: Iterable[str]) -> None:
    """Raises TypeError for feeds by position, for output names before feeds, and for one output name instead of a list."""
    if isinstance(outputs, Mapping):
        names = "" if feeds is None else f", {feeds!r}"
        raise TypeError(f"run takes the feeds first: write session.run(feeds{names}); {COMPATIBLE}")
    if isinstance(outputs, str):
        raise TypeError(f"outputs must be a list of str; write [{outputs!r}]")
    if feeds is None or isinstance(feeds, Mapping) or is_table(feeds):
        return
    example = ", ".join(f"{name!r}: ..." for name in list(inputs)[:3])
    what = f"feeds must be a dict from input names to values, or a table; got {type_name(feeds)}"
    raise TypeError(f"{what}: write session.run({{{example}}})")
