"""What a decoder's session reads and gives: the roles of its inputs and outputs, their sizes, and one run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.generate.decoder.cache_room import updated_pairs
from sardonyx._src.generate.decoder.empty_caches import window_sizes
from sardonyx._src.generate.decoder.feeds import Alignment, longest, run_number
from sardonyx._src.generate.decoder.roles import DecoderRoles, Role, find_roles
from sardonyx._src.interp.run_control import CancellationToken
from sardonyx._src.ir import Array, Shape
from sardonyx._src.runtime.results.output_arrays import OwnedArrays
from sardonyx._src.runtime.session.session import Session


class DecoderModel:
    """A session that computes logits of tokens, and caches that are fed back to it.

    session: a decoder of any exporter.  Its inputs and outputs are recognized by `find_roles`.
    roles: of inputs and outputs whose names say too little, as of `find_roles`.
    sizes: lengths of the caches' open dims that are neither rows nor tokens, by name.
    context: inputs that an encoder computes.
    first: a session that reads the first tokens, for a decoder that requires caches, with the same names.
    """

    def __init__(
        self,
        session: Session,
        roles: Mapping[str, str] | None = None,
        sizes: Mapping[str, int] | None = None,
        *,
        context: Collection[str] = (),
        first: Session | None = None,
    ) -> None:
        self.session, self.first, self.context = session, first, tuple(context)
        self.roles: DecoderRoles = find_roles(session, roles, context=context, first=first)
        self.updated = () if self.has_context else updated_pairs(session, self.roles.caches)
        self.inputs = {value.name: value for value in session.inputs}
        self.sizes = {**window_sizes(session, self.roles.caches), **(sizes or {})}
        self.shapes: dict[str, Shape] = {}  # of inputs, as far as `shape_of` has been asked
        self.window = self.fixed_length()
        for role in ("mask", "positions"):
            self.check_rank(role)

    # --- properties --------------------------------------------------------------------------

    @cached_property
    def vocabulary(self) -> int | None:
        """The number of logits of a token; None if the model does not declare it."""
        logits = next(v for v in self.session.outputs if v.name == self.roles.names["logits"])
        last = logits.shape[-1] if logits.shape else None
        return last if isinstance(last, int) else None

    @cached_property
    def capacity(self) -> int | None:
        """The tokens that fit into the caches; None if they grow without bound."""
        sizes = [
            self.shape_of(pair.past)[-2]
            for pair in self.roles.caches
            if pair.axis is None and pair.has_positions
        ]
        known = [size for size in sizes if isinstance(size, int)]
        return min(known, default=None)

    @property
    def can_cut(self) -> bool:
        """Whether a state can be cut after any of its tokens."""
        return all(pair.has_positions for pair in self.roles.caches)

    @property
    def has_every_logit(self) -> bool:
        """Whether a run of several tokens gives logits after each of them, as far as the model declares."""
        logits = next(v for v in self.session.outputs if v.name == self.roles.names["logits"])
        return self.window is None and (
            logits.shape is None or (len(logits.shape) == 3 and logits.shape[1] != 1)
        )

    @property
    def has_context(self) -> bool:
        """Whether runs read what an encoder computed, or the first one is that of another model."""
        return bool(self.context) or self.first is not None or bool(self.roles.cross)

    @property
    def fixed_rows(self) -> int | None:
        """The number of rows that each run must have; None if any number fits."""
        shapes = [self.shape_of(name) for name in self.row_inputs]
        sizes = [shape[0] for shape in shapes if isinstance(shape[0], int)]
        return min(sizes, default=None)

    @property
    def row_inputs(self) -> tuple[str, ...]:
        """Inputs whose first axis is that of the rows."""
        return (self.roles.names["tokens"], *(pair.past for pair in self.roles.caches))

    def fixed_length(self) -> int | None:
        """The number of tokens that each run must have; None if any number fits."""
        shape = self.shape_of(self.roles.names["tokens"])
        return shape[1] if isinstance(shape[1], int) else None

    def shape_of(self, name: str) -> Shape:
        """The declared dims of an input, with the lengths that are known of open ones."""
        known = self.shapes.get(name)
        if known is not None:
            return known
        value = self.inputs[name]
        if value.shape is None:
            raise InputError(f"the rank of a decoder's input must be declared; got {value!r}", name=name)
        shape = tuple(
            self.sizes.get(str(dim), dim) if not isinstance(dim, int) else dim for dim in value.shape
        )
        self.shapes[name] = shape
        return shape

    def check_rank(self, role: Role) -> None:
        name = self.roles.names.get(role)
        ranks = (2,) if role == "mask" else (1, 2, 3)
        if name is not None and len(self.shape_of(name)) not in ranks:
            raise InputError(
                f"the {role} of a decoder must be [batch, length]; got {self.inputs[name]!r}", name=name
            )

    # --- runs --------------------------------------------------------------------------------

    def run(
        self,
        caches: Mapping[str, Array],
        lengths: Array,
        tokens: Array,
        cancellation: CancellationToken | None,
        alignment: Alignment = "start",
        in_place: OwnedArrays | None = None,
    ) -> tuple[Array, dict[str, Array]]:
        """One run of the session: logits [batch, read, vocabulary], and the caches after it that it does not update.

        caches: also what an encoder computed, and the caches of it, which the first run computes.
        lengths: [batch], the tokens that each row has read.  alignment: where those of shorter rows are in the caches.
        in_place: outputs that are written in the memory of caches, and not copied.
        """
        self.check_fits(longest(lengths) + tokens.shape[1])
        is_first = self.has_context and not lengths.any()
        session = self.first if is_first and self.first is not None else self.session
        feeds = {**caches, **self.numbers(tokens, lengths, alignment)}
        if self.has_context:
            feeds = {v.name: feeds[v.name] for v in session.inputs if v.name in feeds}
        pairs = (*self.roles.caches, *self.roles.cross) if is_first else self.roles.caches
        results = session.run(feeds, cancellation=cancellation, out=in_place)
        logits = as_logits(results[self.roles.names["logits"]])
        if in_place is not None and len(in_place) == len(pairs):
            return logits, {}
        written: Collection[str] = in_place or ()
        return logits, {pair.past: results[pair.present] for pair in pairs if pair.present not in written}

    def check_fits(self, length: int) -> None:
        """Raises InputError for a number of tokens that buffers of a fixed size cannot hold."""
        if self.capacity is not None and length > self.capacity:
            raise InputError(
                f"tokens must fit into the caches of the decoder, {self.capacity}; got {length}: shorten the prompt or "
                "generate fewer tokens",
                name="tokens",
            )

    def numbers(self, tokens: Array, lengths: Array, alignment: Alignment = "start") -> dict[str, Array]:
        """Feeds other than caches: tokens, and what follows from the numbers of tokens before them."""
        feeds = {}
        for role, name in self.roles.names.items():
            if role != "logits":
                is_tokens = role == "tokens"
                value = tokens if is_tokens else run_number(role, lengths, tokens.shape[1], alignment)
                feeds[name] = self.as_declared(name, value)
        return feeds

    def as_declared(self, name: str, value: Array) -> Array:
        """A value in the element type and rank of an input: numbers of rows as one number, masks filled up to a fixed size."""
        declared = self.inputs[name]
        assert declared.dtype is not None, "roles are of tensors"
        shape = self.shape_of(name)
        if len(shape) < value.ndim:
            value = value.max(axis=0)  # rows have equal numbers, or the number is that of the longest row
        elif len(shape) > value.ndim:
            value = np.broadcast_to(value, (int(shape[0]) if isinstance(shape[0], int) else 1, *value.shape))
        elif value.ndim == 1 and shape[0] == 1:
            value = value[:1]
        elif value.ndim == 2 and isinstance(shape[1], int) and shape[1] > value.shape[1]:
            value = np.pad(value, ((0, 0), (0, shape[1] - value.shape[1])))
        return np.array(value, declared.dtype.numpy, order="C")


def as_logits(value: Array) -> Array:
    """Logits [batch, read, vocabulary] in float32."""
    logits = value[:, None] if value.ndim == 2 else value
    return logits.astype(np.float32, copy=False)
