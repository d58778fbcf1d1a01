"""Options of a language model, as the configuration of a served model states them."""

from __future__ import annotations

from dataclasses import fields

from sardonyx._src.arguments import require_integer
from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LanguageOptions:
    """How a language model generates.

    context: the tokens that a prompt and its result may have together; None: what the folder says.
    max_tokens: the tokens of a message that a request does not limit.
    rows: results that are generated at one time.
    cache_bytes: bytes of the caches of these results.
    prefix_bytes: bytes of caches that are kept of earlier prompts and results, for prompts that begin alike.
    """

    context: int | None = None
    max_tokens: int = 1024
    rows: int = 8
    cache_bytes: int = 1 << 30
    prefix_bytes: int = 0

    def __post_init__(self) -> None:
        """Raises InputError for an option of another type or outside its range."""
        for option in fields(self):
            least = 0 if option.name == "prefix_bytes" else 1
            value = getattr(self, option.name)
            require_integer(f"language.{option.name}", value, least, optional=option.name == "context")
