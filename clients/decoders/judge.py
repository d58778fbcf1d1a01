"""Generators of exported folders: native from the first run on, with the greedy tokens of the reference engine."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sardonyx as sx

PROMPT, COUNT = [3, 5, 7, 11, 13, 17, 19, 23, 29, 31], 12  # longer together than the windows of the models
FEATURES = np.random.default_rng(0).standard_normal((1, 80, 3000)).astype(np.float32)
SPEECH = {"input_features": FEATURES}


def assert_native(
    folder: Path, prompt: Sequence[int] = PROMPT, inputs: Mapping[str, Any] | None = None, **options: Any
) -> list[int]:
    """The tokens of a folder.  options: of `Generator`."""
    with warnings.catch_warnings(action="ignore", category=sx.ShapeWarning):  # builders declare wrong ranks
        generator = sx.Generator(folder, **options)
        tokens = greedy(generator, prompt, inputs)
        expected = greedy(sx.Generator(folder, engine="reference", **options), prompt, inputs)
    assert tokens == expected
    encoder = [generator.encoder.session] if generator.encoder is not None else []
    for session in (generator.session, *encoder):
        assert session.stats.fallback_nodes == 0, session
        assert not session.stats.bailouts and not session.stats.compiler_faults, session.stats
    return tokens


def greedy(generator: sx.Generator, prompt: Sequence[int], inputs: Mapping[str, Any] | None) -> list[int]:
    """The most probable tokens, whatever the folder recommends, also beyond one that ends a text."""
    settings: dict[str, Any] = {
        "max_tokens": COUNT,
        "min_tokens": COUNT,
        "temperature": 0,
        "repetition_penalty": 1,
    }
    return generator.generate(prompt, inputs=inputs, **settings).tokens
