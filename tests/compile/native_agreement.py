"""Agreement of native sessions, with one and two threads, with the reference engine."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import sardonyx as sx
from compile.reference_comparison import assert_close
from models import parse_model
from sardonyx._src.ir import Array


def assert_engines_agree(text: str, *feeds: Mapping[str, Array], opset: int = 28, fallbacks: int = 0) -> None:
    """Asserts that all outputs agree for each of the feeds, with equal bits for both numbers of threads, and that as many
    nodes are fallback operations, and no run bails out."""
    model = parse_model(text, opset=opset)
    reference = sx.Session(model, engine="reference")
    sessions = [sx.Session(model, engine="native", threads=threads) for threads in (1, 2)]
    assert sessions[0].stats.fallback_nodes == fallbacks
    for feed in feeds:
        expected = reference.run(feed)
        first, second = (session.run(feed) for session in sessions)
        for name, value in expected.items():
            assert_close(np.asarray(first[name]), np.asarray(value))
            assert np.asarray(first[name]).tobytes() == np.asarray(second[name]).tobytes()
    assert not sessions[0].stats.bailouts


def open_dims(rank: int) -> str:
    """The dims of a tensor in the text of a model: a symbol for each axis."""
    return f"[{','.join('PQRSTU'[:rank])}]" if rank else ""
