"""How the next token is chosen, and when to stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from types import NoneType
from typing import Any, Literal, TypedDict

from sardonyx._src.arguments import (
    items_of,
    require_integer,
    require_mapping,
    require_number,
    require_type,
    texts_of,
)
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError

MAX_TOKENS = 256
GREEDY = 0.0
MAX_LOGPROBS = 100
TOKEN_LISTS = ("stop_tokens", "suppress_tokens", "begin_suppress_tokens")
FORMS = ("json_schema", "regex", "grammar")


@dataclass(frozen=True, slots=True)
class Settings:
    """How tokens are chosen, and when to stop.

    Logits are changed in the order of these fields: penalties, temperature, `top_k`, `top_p`, `min_p`.

    max_tokens: tokens that are generated at most, at least 1.  None: as many as the context of the model has room for.
    min_tokens: tokens that are generated at least, before one that ends the text.
    repetition_penalty: logits of tokens that the prompt or the result has are divided by it where they are positive, and
        multiplied where they are negative (Keskar et al., 2019).  1 for none.
    presence_penalty: subtracted from the logits of tokens that the result has.
    frequency_penalty: subtracted from them as often as the result has them.
    logit_bias: added to the logits of tokens; -100 all but forbids one, 100 all but requires it.
    temperature: logits are divided by it.  0 takes the most probable token, the one of the lowest number among equals.
    top_k: the tokens of the highest logits that may be chosen.  0 for all.
    top_p: the fewest tokens whose probabilities add up to this may be chosen (Holtzman et al., 2020).  1 for all.
    min_p: tokens of at least this share of the highest probability may be chosen (Nguyen et al., 2024).  0 for all.
    seed: of the draws.  Equal seeds draw equal tokens, on any number of threads.
    stop: texts that end the result, which does not contain them.
    stop_tokens: tokens that end the result, in addition to those of the model.
    suppress_tokens: tokens that are never chosen.
    begin_suppress_tokens: tokens that are not chosen as the first one, or as the first one after `forced_tokens`.
    forced_tokens: tokens by their places in the prompt and the result together, counted from 0, which are chosen there.
    logprobs: how many of the most probable tokens the result lists with the natural logarithm of their probability, as the
        model computes it.  0: of the chosen tokens alone; None: no list.
    n: the number of results.
    beams: sequences that a beam search continues.  1 for none; more require a temperature of 0.
    json_schema: a JSON schema, as a dict or text, that the result must satisfy; True for any JSON.
    regex: a regular expression that the whole result must match.
    grammar: a grammar of Lark that the whole result must match.
    length_penalty: a beam's sum of logarithms is divided by its number of tokens to this power.
    """

    max_tokens: int | None = MAX_TOKENS
    min_tokens: int = 0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    temperature: float = GREEDY
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0
    stop: Sequence[str] = ()
    stop_tokens: Sequence[int] = ()
    suppress_tokens: Sequence[int] = ()
    begin_suppress_tokens: Sequence[int] = ()
    forced_tokens: Mapping[int, int] = field(default_factory=dict)
    logprobs: int | None = None
    n: int = 1
    beams: int = 1
    length_penalty: float = 1.0
    json_schema: Mapping[str, Any] | str | Literal[True] | None = None
    regex: str | None = None
    grammar: str | None = None

    @property
    def form(self) -> str:
        """The name of the setting that says what texts must be like; "" if none does."""
        return next((name for name in FORMS if getattr(self, name) is not None), "")

    def __post_init__(self) -> None:
        require_integer("max_tokens", self.max_tokens, 1, optional=True)
        require_integer("min_tokens", self.min_tokens, 0)
        require_integer("top_k", self.top_k, 0)
        require_integer("seed", self.seed, 0, (1 << 64) - 1)
        require_integer("logprobs", self.logprobs, 0, MAX_LOGPROBS, optional=True)
        require_integer("n", self.n, 1)
        require_integer("beams", self.beams, 1)
        require_between("repetition_penalty", self.repetition_penalty, above=0)
        require_between("temperature", self.temperature, least=0)
        require_between("top_p", self.top_p, above=0, most=1)
        require_between("min_p", self.min_p, least=0, most=1)
        for name in ("presence_penalty", "frequency_penalty", "length_penalty"):
            require_between(name, getattr(self, name))
        require_mapping("logit_bias", self.logit_bias, int, (int, float), "tokens to numbers")
        for bias in self.logit_bias.values():
            require_between("logit_bias", bias)
        if self.beams > 1 and self.temperature != GREEDY:
            raise InputError(
                f"beams must be 1 if tokens are drawn; got {self.beams} with the temperature {self.temperature}",
                name="beams",
            )
        if self.n > max(self.beams, 1) and self.beams > 1:
            raise InputError(f"n must be at most the number of beams, {self.beams}; got {self.n}", name="n")
        stop = (self.stop,) if isinstance(self.stop, str) else self.stop
        object.__setattr__(self, "stop", texts_of("stop", stop))
        for name in TOKEN_LISTS:
            object.__setattr__(self, name, items_of(name, getattr(self, name), int, "tokens"))
        require_mapping("forced_tokens", self.forced_tokens, int, int, "places to tokens")
        self._check_forms()
        if "" in self.stop:
            raise InputError("a text of stop must not be empty", name="stop")

    def _check_forms(self) -> None:
        """At most one grammar, of its type, and not with beams, which do not follow any."""
        require_type("json_schema", self.json_schema, (Mapping, str, bool, NoneType), "a dict, a str or True")
        if isinstance(self.json_schema, bool) and not self.json_schema:
            raise InputError(
                "json_schema must be a schema that some value satisfies; got False", name="json_schema"
            )
        for name in FORMS[1:]:
            require_type(name, getattr(self, name), (str, NoneType), "a str")
        stated = [name for name in FORMS if getattr(self, name) is not None]
        if len(stated) > 1:
            raise InputError(f"a text must have one form; got {' and '.join(stated)}", name=stated[1])
        if stated and self.beams > 1:
            raise InputError(f"beams must be 1 with {stated[0]}; got {self.beams}", name="beams")


class SettingsKeywords(TypedDict, total=False):
    """The fields of `Settings`, which explains them, as keywords."""

    max_tokens: int | None
    min_tokens: int
    repetition_penalty: float
    presence_penalty: float
    frequency_penalty: float
    logit_bias: Mapping[int, float]
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    seed: int
    stop: str | Sequence[str]
    stop_tokens: Sequence[int]
    suppress_tokens: Sequence[int]
    begin_suppress_tokens: Sequence[int]
    forced_tokens: Mapping[int, int]
    logprobs: int | None
    n: int
    beams: int
    length_penalty: float
    json_schema: Mapping[str, Any] | str | Literal[True] | None
    regex: str | None
    grammar: str | None


def require_between(
    name: str,
    value: float,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
) -> None:
    """Raises TypeError for anything but a finite number, and InputError outside of the bounds."""
    require_type(name, value, (int, float), "a number")
    require_number(name, value)
    bounds = [
        f"at least {least:g}"
        if least is not None
        else f"greater than {above:g}"
        if above is not None
        else "finite",
        *([f"at most {most:g}"] if most is not None else []),
    ]
    if (
        abs(value) == float("inf")
        or (least is not None and value < least)
        or (above is not None and value <= above)
        or (most is not None and value > most)
    ):
        raise InputError(f"{name} must be {' and '.join(bounds)}; got {value!r}", name=name)
