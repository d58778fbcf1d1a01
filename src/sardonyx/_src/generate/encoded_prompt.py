"""What a decoder begins with: the tokens of a prompt, or what an encoder computes of it and the tokens of a begin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from sardonyx._src.arguments import require_mapping
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.generate.decoder.encoder import PromptEncoder
from sardonyx._src.generate.prompt import Prompt, PromptCodec
from sardonyx._src.interp.run_control import CancellationToken
from sardonyx._src.ir import Array


@dataclass(frozen=True, slots=True)
class EncodedPrompt:
    """What a decoder begins with.

    tokens: those that it reads first.
    context: computes what an encoder has of the prompt, for one row; None without an encoder.
    """

    tokens: list[int]
    context: Callable[[], Mapping[str, Array]] | None = None


def encode_prompt(
    prompt: Prompt,
    inputs: Mapping[str, Array] | None,
    codec: PromptCodec,
    encoder: PromptEncoder | None,
    start: tuple[int, ...],
    cancellation: CancellationToken | None,
) -> EncodedPrompt:
    """What the decoder begins with; raises InputError for a prompt or for inputs that do not fit.

    inputs: of the encoder.  An encoder of texts reads the prompt; with any other, the prompt is what the decoder begins with.
    start: the tokens with which the decoder begins otherwise.
    """
    inputs = {} if inputs is None else inputs
    require_mapping("inputs", inputs, str, np.ndarray, "names to arrays")
    if encoder is None:
        if inputs:
            raise InputError(
                f"inputs require a model with an encoder; got {', '.join(map(repr, inputs))} for a decoder alone",
                name="inputs",
            )
        return EncodedPrompt(codec.encode(prompt))
    is_text = encoder.reads_text and encoder.tokens not in inputs
    source = codec.encode(prompt) if is_text else []
    begins = list(start) if is_text or not len(prompt) else codec.encode(prompt, with_special=False)
    if not begins:
        raise InputError(
            "the token with which the decoder begins must be known: give start_tokens", name="start_tokens"
        )
    return EncodedPrompt(begins, partial(encoder.run, encoder.feeds(source, inputs), cancellation))
