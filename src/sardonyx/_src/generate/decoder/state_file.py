"""Files of decoder states: ONNX files without nodes, whose initializers are the tokens and the caches."""

from __future__ import annotations

import hashlib
import os

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.decoder.state import DecoderState
from sardonyx._src.io.external.stored_bytes import stored_bytes
from sardonyx._src.io.loading.load import load
from sardonyx._src.io.saving.save import save
from sardonyx._src.ir import Array, Model, Tensor
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.rewrite.cache_room import PLACES
from sardonyx._src.runtime.session.session import Session

TOKENS, CACHE, DECODER = (
    "tokens",
    "cache ",
    "sardonyx.decoder",
)  # names of initializers, and of a metadata entry
OPSET = 21
SAMPLE_BYTES = 4096  # of each weight that tell models apart, as a page of a mapped file


def save_state(decoder: TokenDecoder, state: DecoderState, path: str | os.PathLike[str]) -> None:
    """Writes the state to a file, which a process that opens the same model can restore."""
    builder = GraphBuilder(OPSET, name="decoder state")
    builder.constant(TOKENS, state.tokens)
    for name, cache in state.caches.items():
        builder.constant(CACHE + name, np.ascontiguousarray(cache))
    model = builder.model()
    model.metadata[DECODER] = identify(decoder.session)
    save(model, path)


def restore_state(decoder: TokenDecoder, path: str | os.PathLike[str]) -> DecoderState:
    """The state that a file has.

    Raises InputError for a file of another model or without a state, and what `sardonyx.load` raises for one that is damaged.
    """
    model = load(path)
    known = model.metadata.get(DECODER)
    if known is None:
        raise InputError(f"{path} must be the state of a decoder; got another ONNX file", name="path")
    if known != identify(decoder.session):
        raise InputError(
            f"{path} must be a state of this model; got one of a model with other weights or values: read the tokens again",
            name="path",
        )
    caches = {pair.past: tensor_of(model, CACHE + pair.past) for pair in decoder.roles.caches}
    return DecoderState(tensor_of(model, TOKENS), caches)


def tensor_of(model: Model, name: str) -> Array:
    """A tensor of a file, in memory of its own."""
    value = model.graph.initializers.get(name)
    if value is None or not isinstance(value.initializer, Tensor):
        raise InputError(f"the state of a decoder must have the tensor {name!r}; got none", name="path")
    return np.array(value.initializer.numpy())


def identify(session: Session) -> str:
    """A SHA-256 that tells models apart: of inputs, names of outputs, and weights with the first bytes of each.

    It is the same for a model that a generator has edited (`rewrite.decoder_edit`), whose caches are the same.
    """
    inputs = [(value.name, str(value.dtype)) for value in session.inputs if value.name != PLACES]
    outputs = [value.name for value in session.outputs]
    digest = hashlib.sha256(repr((inputs, outputs)).encode())
    for name, value in session.model.graph.initializers.items():
        digest.update(repr((name, value.type)).encode())
        content = stored_bytes(value.initializer) if isinstance(value.initializer, Tensor) else None
        if content is not None:
            digest.update(np.ascontiguousarray(content.reshape(-1)[:SAMPLE_BYTES]).tobytes())
    return digest.hexdigest()
