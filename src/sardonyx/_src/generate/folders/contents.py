"""What a folder says of its language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from sardonyx._src.dataclass import dataclass
from sardonyx._src.generate.choice.settings import SettingsKeywords


@dataclass(frozen=True, slots=True)
class FolderContents:
    """What a folder, or a file alone, says of its language model.

    model: the path of the decoder; None for a model or session of the caller.
    folder: where tokenizer and chat template are; None for a file in a folder without them.
    context: the tokens that prompt and result may have together; None if the folder does not say it.
    end_tokens: tokens that end a result.
    roles, sizes: of `TokenDecoder`.
    defaults: settings that the folder recommends.
    first: the decoder that reads the first tokens, where `model` requires caches of them.
    encoder: the encoder of an encoder-decoder; encoder_outputs: its outputs by inputs of the decoder, where the folder says it.
    start_tokens: with which the decoder of an encoder-decoder begins.
    options: keywords of the session of the decoder, unless a caller gives others.
    """

    model: Path | None = None
    folder: Path | None = None
    context: int | None = None
    end_tokens: tuple[int, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    defaults: SettingsKeywords = field(default_factory=lambda: SettingsKeywords())
    first: Path | None = None
    encoder: Path | None = None
    encoder_outputs: Mapping[str, str] = field(default_factory=dict)
    start_tokens: tuple[int, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
