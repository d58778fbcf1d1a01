"""Expressions such as [a-z]+, whose matches are the longest runs of some characters, as patterns of Python's `re`.

There the leftmost longest match, which counts in RE2, is the one that `re` finds.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from sardonyx._src.ops.text.re2.automaton import Matcher, compile_expression
from sardonyx._src.ops.text.re2.characters import LAST_CODE_POINT

MAX_VISITED_STATES = 1_000_000  # in the recognition of an expression


@lru_cache(maxsize=64)
def run_pattern(expression: str) -> re.Pattern[str] | None:
    """The pattern with the same matches; None for an expression whose matches are no such runs.

    Raises what `compile_expression` raises.
    """
    compiled = compile_expression(expression)
    classes = Matcher(compiled, MAX_VISITED_STATES).run_classes()
    if classes is None:
        return None
    bounds = [*pairwise((*compiled.cuts, LAST_CODE_POINT + 1))]
    ranges = (f"\\U{first:08x}-\\U{end - 1:08x}" for first, end in (bounds[c] for c in classes))
    return re.compile(f"[{''.join(ranges)}]+")
