"""The fields by which a request says how tokens are chosen."""

from __future__ import annotations

import secrets
from typing import cast

from sardonyx._src.arguments import shown
from sardonyx._src.generate.choice.settings import SettingsKeywords
from sardonyx._src.generate.generator import Generator
from sardonyx._src.serve.openai.failures import CONTEXT_LENGTH, ParameterFailure
from sardonyx._src.serve.openai.fields import Fields

MAX_RESULTS = 128
MAX_STOPS = 16
MAX_BIASES = 4096
SEEDS = 1 << 64
DEFAULT_TEMPERATURE = 1.0
SAMPLING = {
    *("frequency_penalty", "logit_bias", "n", "presence_penalty", "seed", "stop", "temperature", "top_p"),
    *("min_p", "min_tokens", "repetition_penalty", "top_k"),  # of this service, beyond the interface
}
# What other services use for accounting and routing, which changes no result.
WITHOUT_EFFECT = {"metadata", "prediction", "prompt_cache_key", "safety_identifier", "user"}
STREAMING = {"model", "stream", "stream_options"}


def read_settings(fields: Fields, generator: Generator) -> SettingsKeywords:
    """The settings of a request, without the number of tokens.

    What a request does not state is as the folder of the model recommends.  If it recommends no temperature, tokens are drawn
    with that of the interface, 1; without a seed, with a random one.
    """
    seed = fields.integer("seed", -(1 << 63), SEEDS - 1)
    stated = {
        "temperature": fields.number("temperature", 0, 2),
        "top_p": fields.number("top_p", 0, 1),
        "min_p": fields.number("min_p", 0, 1),
        "top_k": fields.integer("top_k", 0),
        "presence_penalty": fields.number("presence_penalty", -2, 2),
        "frequency_penalty": fields.number("frequency_penalty", -2, 2),
        "repetition_penalty": fields.number("repetition_penalty", 0.01, 100),
        "n": fields.integer("n", 1, MAX_RESULTS),
        "min_tokens": fields.integer("min_tokens", 0),
        "stop": read_stop(fields),
        "logit_bias": read_bias(fields),
        "seed": secrets.randbits(63) if seed is None else seed % SEEDS,
    }
    if stated["temperature"] is None:
        stated["temperature"] = generator.defaults.temperature or DEFAULT_TEMPERATURE
    if stated["top_p"] == 0:
        raise fields.failure("top_p", "greater than 0")
    return cast(SettingsKeywords, {name: value for name, value in stated.items() if value is not None})


def read_stop(fields: Fields) -> list[str] | None:
    value = fields.get("stop")
    if value is None:
        return None
    texts = [value] if isinstance(value, str) else value
    if (
        not isinstance(texts, list)
        or len(texts) > MAX_STOPS
        or not all(isinstance(t, str) and t for t in texts)
    ):
        raise fields.failure("stop", f"a text or a list of at most {MAX_STOPS} texts, none of them empty")
    return texts


def read_bias(fields: Fields) -> dict[int, float] | None:
    biases = fields.child("logit_bias")
    if biases is None:
        return None
    if len(biases.values) > MAX_BIASES:
        raise ParameterFailure("logit_bias", f"logit_bias must have at most {MAX_BIASES} tokens")
    result = {}
    for token in biases.values:
        if not token.isascii() or not token.isdecimal() or len(token) > 9:
            raise ParameterFailure("logit_bias", f"logit_bias must map numbers of tokens; got {shown(token)}")
        result[int(token)] = biases.number(token, -100, 100) or 0.0
    return result


def read_streaming(fields: Fields) -> tuple[bool, bool]:
    """Whether the response is streamed, and whether its last event has the usage."""
    is_stream, options = fields.flag("stream") or False, fields.child("stream_options")
    if options is None:
        return is_stream, False
    if not is_stream:
        raise ParameterFailure("stream_options", "stream_options require stream to be true")
    options.refuse_others({"include_usage", "include_obfuscation"})
    options.refuse_unless("include_obfuscation", False)
    return True, options.flag("include_usage") or False


def check_room(prompt: list[int], generator: Generator, param: str) -> None:
    """Raises ParameterFailure for a prompt that leaves no room for a token."""
    if not prompt:
        raise ParameterFailure(param, f"{param} must have at least one token; got none")
    if generator.encoder is not None:
        return  # the encoder reads the prompt, and the result alone must fit into the context
    if generator.context is not None and len(prompt) >= generator.context:
        raise ParameterFailure(
            param,
            f"{param} must have fewer tokens than the context of the model, {generator.context}; got {len(prompt)}: "
            "shorten it",
            code=CONTEXT_LENGTH,
        )
