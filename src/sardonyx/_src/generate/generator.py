"""`sx.Generator`: text from a decoder."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np

from sardonyx._src.arguments import items_of, require_integer, require_mapping, require_type
from sardonyx._src.errors import InputError
from sardonyx._src.generate.choice.settings import Settings, SettingsKeywords
from sardonyx._src.generate.decoder.prefix_store import PrefixStore
from sardonyx._src.generate.drafts.draft import DraftStats
from sardonyx._src.generate.encoded_prompt import encode_prompt
from sardonyx._src.generate.folders.contents import FolderContents
from sardonyx._src.generate.folders.open_folder import read_contents
from sardonyx._src.generate.loop.asynchronous import iterate_in_thread
from sardonyx._src.generate.loop.beam_search import search_beams
from sardonyx._src.generate.loop.request import GenerationRequest
from sardonyx._src.generate.loop.sampling import sample
from sardonyx._src.generate.loop.speculation import speculate
from sardonyx._src.generate.opening import (
    open_decoder,
    open_decoder_session,
    open_draft,
    open_encoder,
    open_session,
    open_template,
    open_tokenizer,
)
from sardonyx._src.generate.prompt import Prompt, PromptCodec, require_tokenizer
from sardonyx._src.generate.results import Generation, Piece, collect
from sardonyx._src.generate.text.grammar import Grammar, Grammars
from sardonyx._src.generate.text.tokenizer import Tokenizer
from sardonyx._src.interp.run_control import CancellationToken
from sardonyx._src.ir import Array, Model
from sardonyx._src.runtime.session.session import Session

Source: TypeAlias = "str | os.PathLike[str] | Model | Session"

DRAFT_TOKENS, MAX_DRAFT_TOKENS = 7, 64  # 7 drafted tokens and the one before are read as 8 rows


class Generator:
    """A language model that continues text.

    source: a folder as onnxruntime-genai, Optimum or Transformers write it, the path of a decoder, a model, or a session.
    tokenizer: the path of a `tokenizer.json` or of a folder with one, or a `Tokenizer`; by default the one beside the model.
        Without a tokenizer, prompts are lists of tokens, and results have no text.
    chat_template: the Jinja2 source of a template of conversations; by default the one beside the model.
    context: the tokens that a prompt and its result may have together; by default what the folder says.
    end_tokens: tokens that end a result; by default those of the folder, else the one that the tokenizer names.
    start_tokens: with which the decoder of an encoder-decoder begins; by default those of the folder.
    encoder: the path or session of the encoder of an encoder-decoder; by default the one of the folder.
    roles: inputs and outputs of the decoder by role, and the outputs of caches by their inputs, where their names and the
        graph do not say it: "tokens" [batch, length], "mask" [batch, total], "positions" [batch, length], "new_positions"
        [length], "past_length", "total_length", "has_past", "logits" [batch, length, vocabulary].
    sizes: lengths of the caches' open dims that are neither rows nor tokens.
    prefix_bytes: the bytes of caches that are kept of earlier prompts and results.  A prompt that begins as one of them, as the
        next turn of a conversation does, reads only the rest.  Its logits may then differ in the last bit, since products of
        few and of many rows add in different orders.
    draft: what proposes the next tokens, of which the decoder reads several at a time: "lookup" proposes what followed the
        latest tokens before, a generator of a smaller model with the same tokens what it would choose.  Drafts change the
        speed alone; `draft_stats` counts them.  Only a single result without beams uses them.
    draft_tokens: the tokens of a draft at most.
    options: keywords of `sx.Session`, which opens the decoder.

    A keyword of `generate` and `stream` that is not given is the one that the folder recommends, else the default of
    `Settings`, which chooses the most probable token.
    """

    def __init__(
        self,
        source: Source,
        *,
        tokenizer: Tokenizer | str | os.PathLike[str] | None = None,
        chat_template: str | None = None,
        context: int | None = None,
        end_tokens: Iterable[int] | None = None,
        start_tokens: Iterable[int] | None = None,
        encoder: str | os.PathLike[str] | Session | None = None,
        roles: Mapping[str, str] | None = None,
        sizes: Mapping[str, int] | None = None,
        prefix_bytes: int = 0,
        draft: Generator | Literal["lookup"] | None = None,
        draft_tokens: int = DRAFT_TOKENS,
        **options: Any,
    ) -> None:
        require_type("source", source, (str, os.PathLike, Model, Session), "a path, a model or a session")
        require_integer("context", context, 1, optional=True)
        require_integer("prefix_bytes", prefix_bytes, 0)
        require_integer("draft_tokens", draft_tokens, 1, MAX_DRAFT_TOKENS)
        roles, sizes = {} if roles is None else roles, {} if sizes is None else sizes
        require_mapping("roles", roles, str, str, "names to names")
        require_mapping("sizes", sizes, str, int, "names to lengths")
        contents = FolderContents() if isinstance(source, Model | Session) else read_contents(source)
        self.tokenizer = open_tokenizer(tokenizer, contents.folder)
        self.chat_template = open_template(chat_template, contents.folder, self.tokenizer)
        logits = {**contents.roles, **roles}.get("logits", "logits")
        self.session = open_decoder_session(
            contents.model or source,
            {**contents.options, **options},
            "" if draft is not None else logits,
            has_encoder=any(part is not None for part in (encoder, contents.encoder, contents.first)),
        )
        first = open_session(contents.first, options) if contents.first is not None else None
        self.encoder = open_encoder(encoder, contents, first or self.session, options)
        self.decoder = open_decoder(self.session, contents, self.encoder, first, roles, sizes)
        self.codec = PromptCodec(self.tokenizer, self.chat_template, self.decoder.vocabulary)
        self.start_tokens = (
            contents.start_tokens
            if start_tokens is None
            else items_of("start_tokens", start_tokens, int, "tokens")
        )
        limits = (context or contents.context, self.decoder.capacity)
        self.context = min((limit for limit in limits if limit is not None), default=None)
        ends = None if end_tokens is None else items_of("end_tokens", end_tokens, int, "tokens")
        self.end_tokens: tuple[int, ...] = (
            contents.end_tokens or self._end_of_tokenizer() if ends is None else ends
        )
        self.defaults = Settings(**contents.defaults)
        if prefix_bytes and self.encoder is not None:
            raise InputError("prefix_bytes requires a model without an encoder", name="prefix_bytes")
        self.prefixes = PrefixStore(prefix_bytes, self.decoder.roles.caches) if prefix_bytes else None
        self.grammars: Grammars | None = None  # made when the first grammar is stated
        self._check_vocabulary()
        self.draft, self.draft_tokens = (
            open_draft(draft.decoder if isinstance(draft, Generator) else draft, self.decoder),
            draft_tokens,
        )
        self.draft_stats = DraftStats()

    # --- generation --------------------------------------------------------------------------

    def generate(
        self,
        prompt: Prompt = (),
        *,
        inputs: Mapping[str, Array] | None = None,
        cancellation: CancellationToken | None = None,
        **settings: Unpack[SettingsKeywords],
    ) -> Generation:
        """The continuations of a prompt.

        prompt: a text; tokens; or a conversation, messages with "role" and "content", which the chat template writes out.
            The encoder of an encoder-decoder reads it, unless it reads something else: then the decoder begins with it, or
            with `start_tokens` if there is none.
        inputs: inputs of the encoder by name, [1, ...], as the features of speech.
        cancellation: a token that ends the run.
        settings: the fields of `Settings`.

        Raises InputError for a prompt that does not fit and for a setting that is out of bounds, MissingPackage where a text
        or a conversation requires one, CancelledError, and what `Session.run` raises.
        """
        request = self._request(prompt, inputs, settings, cancellation)
        return Generation(collect(self._pieces(request), request.settings.n), len(request.prompt))

    def stream(
        self,
        prompt: Prompt = (),
        *,
        inputs: Mapping[str, Array] | None = None,
        cancellation: CancellationToken | None = None,
        advance: Callable[[int], None] | None = None,
        **settings: Unpack[SettingsKeywords],
    ) -> Iterator[Piece]:
        """The pieces of the results of `generate` as their tokens are chosen.  A beam search gives a result as one piece.

        advance: is called with the number of tokens of the prompt that have been read, part by part.
        Errors of the arguments are raised at once.  To end early, close the iterator or cancel the token.
        """
        return self._pieces(self._request(prompt, inputs, settings, cancellation, advance))

    def astream(
        self,
        prompt: Prompt = (),
        *,
        inputs: Mapping[str, Array] | None = None,
        **settings: Unpack[SettingsKeywords],
    ) -> AsyncIterator[Piece]:
        """`stream` for coroutines: the model runs in a thread.  Cancelling the task ends the run."""
        token = CancellationToken()
        pieces = self.stream(prompt, inputs=inputs, cancellation=token, **settings)
        return iterate_in_thread(pieces, token)

    def encode(self, prompt: Prompt) -> list[int]:
        """The tokens of a prompt, which may be given in its place.

        An encoder of texts or the decoder reads them.  With any other encoder, the decoder begins with them, or with
        `start_tokens` if the prompt is empty.  Raises InputError for an empty prompt otherwise, and for tokens beyond the
        vocabulary.
        """
        reads_text = self.encoder is None or self.encoder.reads_text
        if not reads_text and not len(prompt):
            return list(self.start_tokens)
        return self.codec.encode(prompt, with_special=reads_text)

    # --- details -----------------------------------------------------------------------------

    def _settings(self, keywords: SettingsKeywords) -> Settings:
        unknown = sorted(set(keywords) - set(SettingsKeywords.__annotations__))
        if unknown:
            raise TypeError(
                f"a setting must be one of {', '.join(SettingsKeywords.__annotations__)}; got {unknown[0]!r}"
            )
        chosen = replace(self.defaults, **keywords)
        for name in ("stop", chosen.form):
            if name and getattr(chosen, name) and self.tokenizer is None:
                raise InputError(f"{name} requires a tokenizer; the model has none", name=name)
        self.codec.check_tokens("logit_bias", chosen.logit_bias)
        self.codec.check_tokens("forced_tokens", chosen.forced_tokens.values())
        return chosen

    def _request(
        self,
        prompt: Prompt,
        inputs: Mapping[str, Array] | None,
        keywords: SettingsKeywords,
        cancellation: CancellationToken | None,
        advance: Callable[[int], None] | None = None,
    ) -> GenerationRequest:
        """The request of a call, checked."""
        settings = self._settings(keywords)
        encoded = encode_prompt(prompt, inputs, self.codec, self.encoder, self.start_tokens, cancellation)
        tokens = np.array(encoded.tokens, np.int64)
        return GenerationRequest(
            tokens,
            settings,
            self._room(len(tokens), settings.max_tokens),
            self._ends(settings),
            self._grammar(settings),
            self.prefixes,
            cancellation,
            advance,
            encoded.context,
        )

    def _ends(self, settings: Settings) -> tuple[int, ...]:
        """The tokens that end a result; some folders name tokens beyond the vocabulary, too, which never follow."""
        size = self.decoder.vocabulary
        ends = {*self.end_tokens, *settings.stop_tokens}
        return tuple(sorted(token for token in ends if size is None or token < size))

    def _pieces(self, request: GenerationRequest) -> Iterator[Piece]:
        if request.settings.beams > 1:
            return self._beams(request)
        if request.settings.n > 1 or self.draft is None:
            return sample(self.decoder, request, self.tokenizer)
        return speculate(
            self.decoder, request, self.tokenizer, self.draft, self.draft_tokens, self.draft_stats
        )

    def _beams(self, request: GenerationRequest) -> Iterator[Piece]:
        """The results of a beam search, each as one piece."""
        for number, result in enumerate(search_beams(self.decoder, request)):
            text = self.tokenizer.decode(result.tokens) if self.tokenizer is not None else ""
            yield Piece(text, result.tokens, (), number, "stop" if result.has_ended else "length")

    def _grammar(self, settings: Settings) -> Grammar | None:
        """The grammar that settings state."""
        if not settings.form:
            return None
        if self.grammars is None:
            size = self.decoder.vocabulary
            tokenizer = require_tokenizer(self.tokenizer)
            self.grammars = Grammars(tokenizer, tokenizer.size if size is None else size, self.end_tokens)
        return self.grammars.grammar(settings)

    def _room(self, prompt: int, max_tokens: int | None) -> int:
        """The tokens that a result may have; raises InputError for a prompt that leaves none."""
        if self.context is None:
            if max_tokens is None:
                raise InputError(
                    "max_tokens must be a number, since the model does not say its context: give one of them",
                    name="max_tokens",
                )
            return max_tokens
        left = self.context - prompt
        if left < 1:
            raise InputError(
                f"a prompt must have fewer tokens than the context of the model, {self.context}; got {prompt}: shorten it",
                name="prompt",
            )
        return left if max_tokens is None else min(left, max_tokens)

    def _end_of_tokenizer(self) -> tuple[int, ...]:
        """The token that ends a text by the tokenizer's configuration, if it names one."""
        text = self.tokenizer.special.get("eos_token") if self.tokenizer is not None else None
        number = self.tokenizer.token(text) if self.tokenizer is not None and text is not None else None
        return () if number is None else (number,)

    def _check_vocabulary(self) -> None:
        """Raises InputError for a tokenizer with tokens that the model does not know."""
        size = self.decoder.vocabulary
        if self.tokenizer is not None and size is not None and self.tokenizer.size > size:
            raise InputError(
                f"the tokens of the tokenizer must be among those of the model, 0 to {size - 1}; got {self.tokenizer.size - 1}: "
                "this is the tokenizer of another model",
                name="tokenizer",
            )

    def __repr__(self) -> str:
        size = self.decoder.vocabulary
        return f"<Generator: {size or '?'} tokens, context {self.context or 'unbounded'}, {len(self.decoder.roles.caches)} caches>"
