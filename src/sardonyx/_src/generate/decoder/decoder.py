"""A decoder: a session that reads tokens, and gives logits of the next ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.generate.decoder.cache_memory import CacheClaim, CacheMemory, move_entries
from sardonyx._src.generate.decoder.cache_room import updated_pairs
from sardonyx._src.generate.decoder.empty_caches import empty_cache, unread_cache, window_sizes
from sardonyx._src.generate.decoder.feeds import Alignment, longest, run_number
from sardonyx._src.generate.decoder.roles import DecoderRoles, Role, find_roles
from sardonyx._src.generate.decoder.state import DecoderState
from sardonyx._src.interp.run_control import CancellationToken
from sardonyx._src.ir import Array, Shape
from sardonyx._src.runtime.results.output_arrays import OwnedArrays
from sardonyx._src.runtime.session.session import Session

MAX_LOGITS_BYTES = 64 << 20  # of a run: most models compute logits of every token of a prompt
MAX_CHUNK = 512  # tokens of a run: enough for products at the machine's rate


class TokenDecoder:
    """Reads tokens with a session, whose caches it feeds back.

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

    # --- reading -----------------------------------------------------------------------------

    def start(self, rows: int = 1, context: Mapping[str, Array] | None = None) -> DecoderState:
        """The state before the first token, of a number of sequences.  context: what an encoder computed of each."""
        context = context or {}
        caches = {
            pair.past: empty_cache(self.inputs[pair.past], self.shape_of(pair.past), pair.axis, rows)
            for pair in self.roles.caches
        }
        lengths = {
            dim: size
            for name in context.keys() & self.inputs.keys()
            for dim, size in zip(self.shape_of(name), context[name].shape, strict=True)
        }
        cross = {
            pair.past: unread_cache(self.inputs[pair.past], self.shape_of(pair.past), rows, lengths)
            for pair in self.roles.cross
        }
        fixed = {pair.past: caches[pair.past] for pair in self.updated if pair.axis is None}
        is_owned = bool(fixed) and len(fixed) == len(self.updated)
        claim = CacheMemory(fixed, self.updated).claim(0) if is_owned else None
        return DecoderState(np.zeros((rows, 0), np.int64), caches, claim, {**context, **cross})

    def read(
        self,
        state: DecoderState,
        tokens: Array,
        *,
        cancellation: CancellationToken | None = None,
        advance: Callable[[int], None] | None = None,
    ) -> tuple[Array, DecoderState]:
        """Logits [batch, read, vocabulary] of the tokens that follow, and the state after reading.

        tokens: [batch, length] int64, at least one.  Long prompts are read in parts, and `read` is the length of the last
            part, or 1 for a model that computes logits of its last token only.
        advance: is called with the number of tokens after each part.
        """
        if not self.roles.caches:
            return self.read_without_caches(state, tokens, cancellation)
        logits, expected = None, state.length + tokens.shape[1]
        for part in self.parts(tokens):
            logits, state = self.read_part(state, part, expected, cancellation)
            if advance is not None:
                advance(part.shape[1])
        if logits is None:
            raise InputError("tokens to read must be at least one; got none", name="tokens")
        return logits, state

    def read_part(
        self, state: DecoderState, tokens: Array, expected: int, cancellation: CancellationToken | None
    ) -> tuple[Array, DecoderState]:
        """`read` of tokens that one run reads.  expected: the tokens of the state after later parts."""
        every, lengths = np.concatenate([state.tokens, tokens], axis=1), np.full(len(tokens), state.length)
        known = {**state.context, **state.caches} if state.context else state.caches
        logits, caches, claim = self.continue_caches(
            known, state.claim, lengths, tokens, expected, cancellation
        )
        if not self.roles.cross:
            return logits, DecoderState(every, caches, claim, state.context)
        crossed = {pair.past for pair in self.roles.cross}
        cross = {name: cache for name, cache in caches.items() if name in crossed}
        rest = {name: cache for name, cache in caches.items() if name not in crossed}
        return logits, DecoderState(every, rest, claim, {**state.context, **cross})

    def continue_caches(
        self,
        caches: Mapping[str, Array],
        claim: CacheClaim | None,
        lengths: Array,
        tokens: Array,
        expected: int,
        cancellation: CancellationToken | None,
        alignment: Alignment = "start",
    ) -> tuple[Array, Mapping[str, Array], CacheClaim | None]:
        """`run`, in memory that has room for `expected` tokens; also a claim of this memory.

        claim: of the memory of the caches; where it may not be continued, they are copied.
        """
        if not self.updated:
            return *self.run(caches, lengths, tokens, cancellation, alignment), None
        before = longest(lengths)
        length = before + tokens.shape[1]
        self.check_fits(length)
        longer = claim.memory.extend(claim, length) if claim is not None else None
        if longer is None:
            longer = move_entries(caches, self.updated, before, expected).claim(length)
        memory = longer.memory
        try:
            feeds = {name: caches[name] for name in caches if name not in memory.arrays}
            feeds.update(memory.arrays)
            logits, others = self.run(feeds, lengths, tokens, cancellation, alignment, memory.outputs)
        except BaseException:
            memory.is_abandoned = True  # a unit of the run may go on and write to it
            raise
        return logits, memory.views(length, others), longer

    def parts(self, tokens: Array) -> Iterator[Array]:
        """Tokens in parts that bound the memory of logits."""
        if self.window not in (None, 1):
            raise InputError(
                f"a decoder with caches must read any number of tokens or one; this one reads {self.window}",
                name="tokens",
            )
        bounded = MAX_LOGITS_BYTES // (4 * (self.vocabulary or 1) * len(tokens))
        size = 1 if self.window == 1 else max(1, min(MAX_CHUNK, bounded))
        for first in range(0, tokens.shape[1], size):
            yield tokens[:, first : first + size]

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

    def read_without_caches(
        self, state: DecoderState, tokens: Array, cancellation: CancellationToken | None
    ) -> tuple[Array, DecoderState]:
        """One run of the session on all tokens, or on the last ones of a model that reads a fixed number."""
        every = np.concatenate([state.tokens, tokens], axis=1)
        if self.window is not None and every.shape[1] < self.window:
            raise InputError(
                f"the prompt must have at least {self.window} tokens, which the model reads at a time; got {every.shape[1]}",
                name="tokens",
            )
        shown = every if self.window is None else every[:, -self.window :]
        feeds = {**state.context, **self.numbers(shown, np.zeros(len(shown), np.int64))}
        results = self.session.run(feeds, cancellation=cancellation)
        logits = as_logits(results[self.roles.names["logits"]])
        return logits[:, -tokens.shape[1] :], DecoderState(every, {}, context=state.context)

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
