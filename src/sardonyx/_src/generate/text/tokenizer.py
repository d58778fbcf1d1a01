"""Text to tokens and back, by the package tokenizers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sardonyx._src.errors import InputError, MissingPackage

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Library

FILE = "tokenizer.json"
CONFIG = "tokenizer_config.json"


class Tokenizer:
    """A tokenizer of the form that Hugging Face's libraries save: `tokenizer.json`.

    library: the tokenizer of the package tokenizers.
    special: texts of special tokens by the names that templates use, as bos_token.
    """

    def __init__(self, library: Library, special: dict[str, str] | None = None) -> None:
        self.library = library
        self.special = special or {}

    @classmethod
    def open(cls, path: Path) -> Tokenizer:
        """The tokenizer of a file, or of a folder with `tokenizer.json`.

        Raises MissingPackage without the package tokenizers, and InputError for a file that is no tokenizer.
        """
        folder, file = (path, path / FILE) if path.is_dir() else (path.parent, path)
        if not file.exists():
            raise InputError(
                f"the tokenizer must be a file {FILE} or a folder with one; got {path}", name="tokenizer"
            )
        library = import_library()
        try:
            content = library.from_file(str(file))
        except Exception as error:  # noqa: BLE001  # the package raises Exception itself
            raise InputError(
                f"{file} must be a file of the package tokenizers: {error}", name="tokenizer"
            ) from None
        return cls(content, special_texts(read_config(folder / CONFIG)))

    @property
    def size(self) -> int:
        """One more than the highest token, apart from tokens that were added later."""
        return max(self.library.get_vocab(with_added_tokens=False).values(), default=-1) + 1

    def encode(self, text: str, *, with_special: bool = True) -> list[int]:
        """The tokens of a text.  with_special: whether the tokenizer adds those that begin or end a text."""
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(
                "a text must consist of characters; got a lone surrogate", name="prompt"
            ) from None
        tokens: list[int] = self.library.encode(text, add_special_tokens=with_special).ids
        return tokens

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without special ones."""
        return str(self.library.decode(list(tokens), skip_special_tokens=True))

    def stream(self) -> TokenStream:
        """The text of tokens that come one by one."""
        return TokenStream(self)

    def token_text(self, token: int) -> str:
        """The characters that a token adds to a text; the name of a special one.

        Decoders may strip the space before the first token of a text: it shows before a second one.
        """
        first, both = self.decode([token]), self.decode([token, token])
        if not first:
            return str(self.library.id_to_token(token) or "")
        return both[len(first) :] if both.startswith(first) and len(both) > len(first) else first

    def token(self, text: str) -> int | None:
        """The number of a token by its text."""
        number: int | None = self.library.token_to_id(text)
        return number


class TokenStream:
    """The text of tokens that come one by one: each gives the characters that it completes."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        from tokenizers.decoders import (
            DecodeStream,
        )  # an optional dependency, which the tokenizer has imported

        self.tokenizer = tokenizer
        self.decoder = DecodeStream(skip_special_tokens=True)
        self.pending: list[int] = []

    def step(self, token: int) -> str:
        """The characters that are complete with this token; "" within a character of several tokens."""
        text = self.decoder.step(self.tokenizer.library, token)
        self.pending = [] if text else [*self.pending, token]
        return text or ""

    def rest(self) -> str:
        """What is left of a character that no token completed."""
        return self.tokenizer.decode(self.pending) if self.pending else ""


def import_library() -> Any:
    """The class Tokenizer of the package tokenizers."""
    try:
        from tokenizers import Tokenizer as Library  # an optional dependency
    except ImportError:
        raise MissingPackage(
            "text requires the package tokenizers: pip install 'sardonyx[generate]'",
            package="sardonyx[generate]",
        ) from None
    return Library


def read_config(path: Path) -> dict[str, Any]:
    """A JSON object of a file; {} without the file.  Raises InputError for another content."""
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} must be JSON: {error}", name=str(path)) from None
    if not isinstance(content, dict):
        raise InputError(f"{path} must be a JSON object; got {type(content).__name__}", name=str(path))
    return content


def special_texts(config: dict[str, Any]) -> dict[str, str]:
    """The texts of the special tokens of a `tokenizer_config.json`, by name."""
    known: dict[str, str] = {}
    for name, value in config.items():
        text = value.get("content") if isinstance(value, dict) else value
        if name.endswith("_token") and isinstance(text, str):
            known[name] = text
    return known
