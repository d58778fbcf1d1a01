"""Structured output: JSON of a schema, regular expressions and grammars, by the package llguidance."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from sardonyx._src.errors import InputError, MissingPackage
from sardonyx._src.generate.choice.settings import Settings
from sardonyx._src.generate.text.tokenizer import Tokenizer
from sardonyx._src.ir import Array

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer

EMPTY = "{}"  # a schema that every JSON value satisfies


class Grammars:
    """Grammars for the tokens of a tokenizer, whose tables are computed once, in a second for large vocabularies.

    vocabulary: the number of logits.
    ends: tokens that end a result; a text is complete only with one of them.
    """

    def __init__(self, tokenizer: Tokenizer, vocabulary: int, ends: tuple[int, ...]) -> None:
        if not ends:
            raise InputError(
                "a text of a given form requires a token that ends it, and the model names none: give end_tokens",
                name="end_tokens",
            )
        self.library = import_library()
        self.vocabulary = vocabulary
        size = max(vocabulary, tokenizer.size)
        try:
            self.tokens: LLTokenizer = self.library.LLTokenizer(
                tokenizer.library.to_str(), n_vocab=size, eos_token=list(ends)
            )
        except ValueError as error:
            raise InputError(
                f"the tokenizer of a model with texts of a given form must be one of bytes: {error}",
                name="tokenizer",
            ) from None

    def grammar(self, settings: Settings) -> Grammar | None:
        """The grammar that settings state; None if they state none.  Raises InputError for one that is wrong."""
        matcher = self.library.LLMatcher
        try:
            if settings.json_schema is not None:
                source = matcher.grammar_from_json_schema(schema_text(settings.json_schema))
            elif settings.regex is not None:
                source = matcher.grammar_from_regex(settings.regex)
            elif settings.grammar is not None:
                source = matcher.grammar_from_lark(settings.grammar)
            else:
                return None
        except ValueError as error:
            raise InputError(
                f"{settings.form} must be a grammar of texts: {error}", name=settings.form
            ) from None
        fault = matcher.validate_grammar(source, self.tokens)
        if fault:
            raise InputError(f"{settings.form} must be a grammar of texts: {fault}", name=settings.form)
        return Grammar(self, matcher(self.tokens, source))


class Grammar:
    """A grammar, from which each result has a matcher of its own."""

    def __init__(self, grammars: Grammars, matcher: LLMatcher) -> None:
        self.grammars, self.matcher = grammars, matcher

    def start(self) -> TextMatcher:
        return TextMatcher(self.matcher.deep_copy(), self.grammars.vocabulary)


class TextMatcher:
    """How far a text has matched a grammar."""

    def __init__(self, matcher: LLMatcher, vocabulary: int) -> None:
        self.matcher, self.vocabulary = matcher, vocabulary

    def allowed(self) -> Array:
        """Which tokens may come next [vocabulary], bool."""
        bits = np.frombuffer(self.matcher.compute_bitmask(), np.uint8)
        mask = np.unpackbits(bits, bitorder="little").astype(bool)[: self.vocabulary]
        return np.pad(mask, (0, self.vocabulary - len(mask)))

    def add(self, token: int) -> bool:
        """Goes on by a token that was allowed; whether the text is complete, so that nothing can follow."""
        self.matcher.consume_token(token)
        if self.matcher.is_error():
            raise InputError(
                f"the grammar must be one that llguidance can follow: {self.matcher.get_error()}",
                name="grammar",
            )
        return bool(self.matcher.is_stopped())


def schema_text(schema: object) -> str:
    """A JSON schema as text; True is the schema of every JSON value."""
    if isinstance(schema, str):
        return schema
    return EMPTY if schema is True else json.dumps(schema)


def import_library() -> Any:
    try:
        import llguidance  # an optional dependency
    except ImportError:
        raise MissingPackage(
            "texts of a given form require the package llguidance: pip install 'sardonyx[generate]'",
            package="sardonyx[generate]",
        ) from None
    return llguidance
