"""Tokens that a configuration of Transformers forbids, or requires at places, as those of Whisper do.

Places are those of the decoder's sequence, in which its first token has the place 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sardonyx._src.generate.choice.settings import SettingsKeywords
from sardonyx._src.generate.folders.recommended import tokens_of

FORCED = "forced_decoder_ids"


def forced_tokens(config: Mapping[str, Any]) -> dict[int, int]:
    """The tokens of `forced_decoder_ids` by place; a place whose token the model chooses, as that of a language, is none of them."""
    stated = config.get(FORCED)
    pairs = [pair for pair in stated if isinstance(pair, list)] if isinstance(stated, list) else []
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2 and all(isinstance(n, int) for n in pair)}


def begun(start: tuple[int, ...], forced: Mapping[int, int]) -> tuple[int, ...]:
    """The tokens with which a decoder begins, and those that are required right after them."""
    tokens = list(start)
    while tokens and len(tokens) in forced:
        tokens.append(forced[len(tokens)])
    return tuple(tokens)


def token_settings(config: Mapping[str, Any], forced: Mapping[int, int]) -> SettingsKeywords:
    """The settings of a configuration that name tokens."""
    settings = SettingsKeywords()
    if never := tokens_of(config.get("suppress_tokens")):
        settings["suppress_tokens"] = never
    if not_first := tokens_of(config.get("begin_suppress_tokens")):
        settings["begin_suppress_tokens"] = not_first
    if forced:
        settings["forced_tokens"] = dict(forced)
    return settings
