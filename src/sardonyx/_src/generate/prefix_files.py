"""Files of prompts that have been read, which another process continues."""

from __future__ import annotations

import os

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.generate.decoder.prefix_store import PrefixStore
from sardonyx._src.generate.decoder.state_file import restore_state, save_state
from sardonyx._src.generate.generator import Generator
from sardonyx._src.generate.prompt import Prompt


def save_prefix(generator: Generator, prompt: Prompt, path: str | os.PathLike[str]) -> None:
    """Reads a prompt, and writes its tokens and the caches of the model to a file.

    Raises InputError for a model without caches, for one with an encoder, and what `Generator.generate` raises for a prompt.
    """
    decoder = generator.decoder
    if not decoder.roles.caches or decoder.has_context:
        actual = "one with an encoder" if decoder.has_context else "one without"
        raise InputError(
            f"a prefix requires a model with caches and without an encoder; got {actual}", name="generator"
        )
    _, state = decoder.read(decoder.start(), np.array([generator.encode(prompt)], np.int64))
    save_state(decoder, state, path)


def load_prefix(generator: Generator, path: str | os.PathLike[str]) -> int:
    """The number of tokens of a file that `save_prefix` has written.  Prompts that begin with them read only the rest.

    Raises InputError for a file of another model, and for a generator whose `prefix_bytes` are too few; and what `sardonyx.load`
    raises for a damaged file.
    """
    state = restore_state(generator.decoder, path)
    store: PrefixStore | None = generator.prefixes
    limit = store.limit if store is not None else 0
    if store is None or state.bytes > limit:
        raise InputError(
            f"the caches of {path} must fit into those that the generator keeps, {limit} bytes; got {state.bytes}: open it with "
            "greater prefix_bytes",
            name="prefix_bytes",
        )
    store.keep(state)
    return state.length
