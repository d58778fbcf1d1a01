"""Embeddings: the vectors of texts."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.generate.embedder import Embedder
from sardonyx._src.ir import Array
from sardonyx._src.serve.openai.failures import CONTEXT_LENGTH, UNSUPPORTED, ParameterFailure
from sardonyx._src.serve.openai.fields import Fields
from sardonyx._src.serve.openai.prompts import read_prompts
from sardonyx._src.serve.openai.usage import Usage

MAX_INPUTS = 2048
KNOWN = {"model", "input", "encoding_format", "dimensions", "user"}


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """A request for the vectors of texts.

    texts: their tokens.
    is_base64: whether vectors are base64 of little-endian float32, rather than lists of numbers.
    dimensions: the length that vectors must have; None for any.
    """

    texts: list[list[int]]
    is_base64: bool
    dimensions: int | None


def read_embedding(fields: Fields, embedder: Embedder) -> EmbeddingRequest:
    """The request with these fields.  Raises ParameterFailure, and InputError for a text without tokens."""
    fields.refuse_others(KNOWN)
    encoding = fields.text("encoding_format") or "float"
    if encoding not in ("float", "base64"):
        raise fields.failure("encoding_format", "float or base64")
    texts = read_prompts(fields, "input", embedder.tokenizer.encode, MAX_INPUTS)
    for tokens in texts:
        if not tokens:
            raise ParameterFailure("input", "a text of input must have at least one token; got none")
        if embedder.context is not None and len(tokens) > embedder.context:
            why = f"a text of input must have at most {embedder.context} tokens, the context of the model; got {len(tokens)}"
            raise ParameterFailure("input", f"{why}: shorten it", code=CONTEXT_LENGTH)
    return EmbeddingRequest(texts, encoding == "base64", fields.integer("dimensions", 1))


def embedding_response(model: str, request: EmbeddingRequest, vectors: Array) -> dict[str, object]:
    """The response; vectors: [texts, width] float32."""
    if request.dimensions not in (None, vectors.shape[1]):
        why = f"dimensions must be {vectors.shape[1]}, those of the model; got {request.dimensions}"
        raise ParameterFailure("dimensions", why, code=UNSUPPORTED)
    usage = Usage(sum(map(len, request.texts))).describe()
    del usage["completion_tokens"]
    data = [
        {"object": "embedding", "index": i, "embedding": encode_vector(row, is_base64=request.is_base64)}
        for i, row in enumerate(vectors)
    ]
    return {"object": "list", "data": data, "model": model, "usage": usage}


def encode_vector(vector: Array, *, is_base64: bool) -> Any:
    row = np.ascontiguousarray(vector, "<f4")
    return base64.b64encode(row.tobytes()).decode() if is_base64 else row
