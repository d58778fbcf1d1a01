"""Embeddings: vectors of texts, by an encoder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from sardonyx._src.arguments import require_choice, require_flag, require_integer, require_type, texts_of
from sardonyx._src.errors import InputError
from sardonyx._src.generate.folders.sentence_folder import read_sentence_folder
from sardonyx._src.generate.opening import open_tokenizer
from sardonyx._src.generate.text.tokenizer import FILE, Tokenizer
from sardonyx._src.ir import Array
from sardonyx._src.runtime.session.session import Session

Pooling: TypeAlias = Literal["mean", "first", "last", "max"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
ROWS = 32  # texts of a run
# Inputs of encoders by name: what is fed for each token.
TOKENS, ONES, ZEROS, POSITIONS = "input_ids", "attention_mask", "token_type_ids", "position_ids"
SENTENCE = "sentence_embedding"  # an output that is pooled already


class Embedder:
    """An encoder that computes a vector of each text.

    source: a folder as Sentence Transformers or Optimum write it, or the path of a model with a tokenizer beside it.
    pooling: how the vectors of tokens become one: their "mean", that of the "first" or "last" token, or the "max" of each
        element.  By default what the folder says, else the mean; a model with an output `sentence_embedding` has pooled.
    normalize: whether vectors have the length 1; by default what the folder says.
    context: the most tokens of a text; by default what the folder says.
    tokenizer: the path of a `tokenizer.json` or of a folder with one, or a `Tokenizer`; by default the one beside the model.
    options: keywords of `sx.Session`, which opens the model.

    Raises InputError for a folder without an encoder, and for inputs or outputs that no encoder has.
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        *,
        pooling: Pooling | None = None,
        normalize: bool | None = None,
        context: int | None = None,
        tokenizer: Tokenizer | str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        require_type("source", source, (str, os.PathLike), "a path")
        require_integer("context", context, 1, optional=True)
        if pooling is not None:
            require_choice("pooling", pooling, POOLINGS)
        if normalize is not None:
            require_flag("normalize", normalize)
        contents = read_sentence_folder(source)
        opened = open_tokenizer(tokenizer, contents.folder)
        if opened is None:
            raise InputError(
                f"an encoder requires a tokenizer: {contents.folder} has no {FILE}; give its path",
                name="tokenizer",
            )
        self.tokenizer = opened
        self.session = Session(contents.model, **options)
        self.context = context if context is not None else contents.context
        self.pooling: Pooling = pooling if pooling is not None else contents.pooling
        self.normalize = contents.normalize if normalize is None else bool(normalize)
        self.output = find_output(self.session)
        for value in self.session.inputs:
            if value.name not in (TOKENS, ONES, ZEROS, POSITIONS) and not value.has_default:
                raise InputError(
                    f"inputs of an encoder must be {TOKENS}, {ONES}, {ZEROS} and {POSITIONS}; got {value!r}",
                    name=value.name,
                )

    def embed(self, texts: str | Sequence[str], *, truncate: bool = False) -> Array:
        """The vectors of texts [texts, width] in float32, or [width] of a single text.

        truncate: whether a text with more tokens than `context` is cut, rather than refused by InputError.
        Texts of one length run together, without padding, so that no vector depends on what other texts are.
        """
        require_flag("truncate", truncate)
        if isinstance(texts, str):
            return self.embed([texts], truncate=truncate)[0]  # type: ignore[no-any-return]
        return self.embed_tokens([self.encode(text, truncate=truncate) for text in texts_of("texts", texts)])

    def embed_tokens(self, tokens: Sequence[Sequence[int]]) -> Array:
        """The vectors [texts, width] of texts as `encode` gives them."""
        vectors: dict[int, Array] = {}
        by_length = sorted(range(len(tokens)), key=lambda number: len(tokens[number]))
        for numbers in batches(by_length, tokens):
            rows = self._run(np.array([tokens[number] for number in numbers], np.int64))
            vectors |= dict(zip(numbers, rows, strict=True))
        return (
            np.stack([vectors[number] for number in range(len(tokens))])
            if tokens
            else np.zeros((0, 0), np.float32)
        )

    def encode(self, text: str, *, truncate: bool = False) -> list[int]:
        """The tokens of a text; raises InputError for a text without any, and for one with more than `context`."""
        tokens = self.tokenizer.encode(text)
        if not tokens:
            raise InputError(f"a text must have at least one token; got {text!r:.50}", name="texts")
        if self.context is not None and len(tokens) > self.context:
            if not truncate:
                raise InputError(
                    f"a text must have at most {self.context} tokens, the context of the model; got {len(tokens)}: shorten it, or "
                    "cut it by truncate=True",
                    name="texts",
                )
            tokens = tokens[: self.context]
        return tokens

    def _run(self, tokens: Array) -> Array:
        """The vectors of texts of one length; tokens: [texts, length]."""
        values: Mapping[str, Array] = {
            TOKENS: tokens,
            ONES: np.ones_like(tokens),
            ZEROS: np.zeros_like(tokens),
            POSITIONS: np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape),
        }
        feeds = {
            v.name: np.array(values[v.name], v.dtype.numpy if v.dtype is not None else None)
            for v in self.session.inputs
            if v.name in values
        }
        vectors = self.session.run(feeds, [self.output])[self.output].astype(np.float32, copy=False)
        pooled = vectors if vectors.ndim == 2 else pool(vectors, self.pooling)
        if self.normalize:
            length = np.sqrt((pooled * pooled).sum(axis=1, keepdims=True))
            pooled = pooled / np.maximum(length, np.finfo(np.float32).tiny)
        return pooled


def batches(numbers: Sequence[int], tokens: Sequence[Sequence[int]]) -> list[list[int]]:
    """Texts of one length together, at most ROWS; numbers: of the texts, by their lengths."""
    groups: list[list[int]] = []
    for number in numbers:
        if not groups or len(groups[-1]) == ROWS or len(tokens[groups[-1][0]]) != len(tokens[number]):
            groups.append([])
        groups[-1].append(number)
    return groups


def pool(vectors: Array, pooling: Pooling) -> Array:
    """The vector of each text; vectors: [texts, tokens, width]."""
    if pooling == "mean":
        mean: Array = vectors.mean(axis=1)
        return mean
    if pooling == "max":
        return vectors.max(axis=1)  # type: ignore[no-any-return]
    return vectors[:, 0 if pooling == "first" else -1]


def find_output(session: Session) -> str:
    """The output with vectors of texts, else the first one with vectors of tokens."""
    names = {v.name: v for v in session.outputs}
    if SENTENCE in names:
        return SENTENCE
    ranks = {name: len(v.shape) for name, v in names.items() if v.shape is not None}
    tokens = [name for name in names if ranks.get(name, 3) == 3]
    if not tokens:
        raise InputError(
            f"an encoder must have an output {SENTENCE} or [texts, tokens, width]; got {', '.join(map(repr, names.values()))}",
            name="source",
        )
    return tokens[0]
