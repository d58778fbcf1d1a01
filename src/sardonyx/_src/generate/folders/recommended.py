"""Settings that a model's folder recommends, in the names of Hugging Face's `generation_config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from sardonyx._src.generate.choice.settings import SettingsKeywords

NUMBERS = ("temperature", "top_p", "min_p", "repetition_penalty")


def recommended_settings(config: Mapping[str, Any]) -> SettingsKeywords:
    """The settings of a configuration: without `do_sample`, the most probable token is taken, whatever it says besides."""
    known: dict[str, Any] = {
        name: config[name] for name in NUMBERS if isinstance(config.get(name), int | float)
    }
    if isinstance(config.get("top_k"), int):
        known["top_k"] = config["top_k"]
    if not config.get("do_sample", False):
        known = {name: value for name, value in known.items() if name == "repetition_penalty"}
    else:
        known.setdefault("temperature", 1.0)
    return cast(SettingsKeywords, known)


def tokens_of(value: object) -> tuple[int, ...]:
    """One token or a list of tokens of a configuration."""
    if isinstance(value, int):
        return (value,)
    return tuple(item for item in value if isinstance(item, int)) if isinstance(value, list) else ()
