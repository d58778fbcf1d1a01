"""The encoder of an encoder-decoder: what it computes of a text or of other inputs, by the names of the decoder's inputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.generate.decoder.cache_pairs import is_cross, pairs_by_name
from sardonyx._src.interp.run_control import CancellationToken
from sardonyx._src.ir import Array
from sardonyx._src.runtime.session.session import Session
from sardonyx._src.runtime.session.session_values import SessionValue

# Names that exporters give.
TOKENS = ("input_ids", "encoder_input_ids")
MASKS = ("attention_mask", "encoder_attention_mask")
STATES = ("encoder_hidden_states", "encoder_outputs", "hidden_states")  # inputs of a decoder
STATE_MASKS = ("encoder_attention_mask", "cross_attention_mask")


class PromptEncoder:
    """An encoder, and which inputs of a decoder it computes.

    session: an encoder of a text, with tokens [batch, length], or of other inputs, as the features of speech.
    decoder: the inputs of the decoder that reads the first tokens.
    given: outputs of the encoder by inputs of the decoder, where names say too little.
    """

    def __init__(
        self, session: Session, decoder: Sequence[SessionValue], given: Mapping[str, str] | None = None
    ) -> None:
        self.session = session
        self.inputs = {value.name: value for value in session.inputs}
        self.tokens = first_of(TOKENS, self.inputs)
        self.mask = first_of(MASKS, self.inputs)
        self.decoder = {value.name: value for value in decoder}
        self.sources = find_sources(decoder, session.outputs, given or {})
        self.state_mask = first_of(STATE_MASKS, self.decoder)
        self.states = next((name for name in self.sources if not is_cross_cache(name)), None)

    @property
    def reads_text(self) -> bool:
        """Whether it reads the tokens of a text, rather than other inputs alone."""
        return self.tokens is not None

    @property
    def context(self) -> tuple[str, ...]:
        """The inputs of the decoder that `run` computes."""
        return (*self.sources, *([self.state_mask] if self.state_mask is not None else []))

    def feeds(self, tokens: Sequence[int], inputs: Mapping[str, Array]) -> dict[str, Array]:
        """What `run` takes.  Raises InputError for missing and for unknown inputs.

        tokens: of the text, for an encoder that reads one.
        inputs: further inputs by name, [1, ...].
        """
        feeds = dict(inputs)
        if self.tokens is not None:
            feeds.setdefault(self.tokens, self.as_declared(self.tokens, np.array([tokens])))
        if self.mask is not None:
            feeds.setdefault(self.mask, self.as_declared(self.mask, self.mask_of(feeds)))
        self.check(feeds)
        return feeds

    def run(
        self, feeds: Mapping[str, Array], cancellation: CancellationToken | None = None
    ) -> dict[str, Array]:
        """What the decoder is fed, for one row."""
        results = self.session.run(feeds, cancellation=cancellation)
        context = {name: results[output] for name, output in self.sources.items()}
        if self.state_mask is not None:
            context[self.state_mask] = self.mask_of_states(feeds, context)
        return context

    def mask_of(self, feeds: Mapping[str, Array]) -> Array:
        """Ones for each token of the text, or for each part of the only other input."""
        main = feeds.get(self.tokens or "", next(iter(feeds.values()), np.zeros((1, 0))))
        return np.ones((1, main.shape[-1]), np.int64)

    def mask_of_states(self, feeds: Mapping[str, Array], context: Mapping[str, Array]) -> Array:
        """The mask of the encoder where it has as many columns as the states have rows, else ones."""
        assert self.state_mask is not None
        declared = self.decoder[self.state_mask]
        assert declared.dtype is not None, "a mask is a tensor"
        mask = feeds.get(self.mask or "")
        length = context[self.states].shape[1] if self.states is not None else None
        if mask is None or (length is not None and mask.shape[-1] != length):
            mask = np.ones((1, length or 0), np.int64)
        return mask.astype(declared.dtype.numpy)

    def as_declared(self, name: str, value: Array) -> Array:
        dtype = self.inputs[name].dtype
        return value if dtype is None else value.astype(dtype.numpy)

    def check(self, feeds: Mapping[str, Array]) -> None:
        for name in feeds:
            if name not in self.inputs:
                raise InputError(
                    f"inputs must be those of the encoder: {', '.join(self.inputs)}; got {name!r}",
                    name="inputs",
                )
        for value in self.session.inputs:
            if value.name not in feeds and not value.has_default:
                raise InputError(
                    f"the encoder requires its input {value!r}: give it as inputs={{{value.name!r}: array}}",
                    name="inputs",
                )


def first_of(names: Sequence[str], where: Collection[str]) -> str | None:
    return next((name for name in names if name in where), None)


def is_cross_cache(name: str) -> bool:
    return is_cross(name) and name not in STATES


def find_sources(
    decoder: Sequence[SessionValue], outputs: Sequence[SessionValue], given: Mapping[str, str]
) -> dict[str, str]:
    """The outputs of an encoder by the inputs of a decoder: caches by their names, and the states.

    Raises InputError if the decoder has no input for the encoder, or if the output of the states is not evident.
    """
    sources = {name: output for name, output in given.items() if any(v.name == name for v in decoder)}
    open_inputs = [v for v in decoder if v.name not in sources and is_cross_cache(v.name)]
    sources |= pairs_by_name(open_inputs, outputs)
    states = first_of(STATES, [v.name for v in decoder])
    rest = [v.name for v in outputs if v.name not in sources.values()]
    if states is not None and states not in sources:
        output = states if states in rest else first_of(("last_hidden_state", *STATES), rest)
        if output is None and len(rest) == 1:
            output = rest[0]
        if output is None:
            raise InputError(
                f"the output of the encoder that the decoder reads as {states!r} must be evident; got {', '.join(rest) or 'none'}",
                name="roles",
            )
        sources[states] = output
    if not sources:
        raise InputError(
            f"a decoder with an encoder must have an input for what that computes, as {STATES[0]}; got "
            f"{', '.join(v.name for v in decoder)}",
            name="roles",
        )
    return sources
