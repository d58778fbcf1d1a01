"""Prompts of conversations, by the template that a model has: Jinja in its sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from sardonyx._src.errors import InputError, MissingPackage
from sardonyx._src.generate.text.tokenizer import CONFIG, read_config

Message: TypeAlias = Mapping[str, Any]
FILE = "chat_template.jinja"
DEFAULT = "default"  # the name of the template of conversations, where there are several


class ChatTemplate:
    """A template: messages to the text of a prompt.

    source: the template, in Jinja2, with the variables and functions that Hugging Face's templates use.
    special: texts of special tokens by name.
    Raises MissingPackage without Jinja2, and InputError for a source that is no template.
    """

    def __init__(self, source: str, special: Mapping[str, str]) -> None:
        try:
            from jinja2 import TemplateSyntaxError
            from jinja2.ext import loopcontrols
            from jinja2.sandbox import ImmutableSandboxedEnvironment
        except ImportError:
            raise MissingPackage(
                "conversations require the package Jinja2: pip install 'sardonyx[generate]'",
                package="sardonyx[generate]",
            ) from None
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
        )
        environment.filters["tojson"] = to_json
        environment.globals |= {
            "raise_exception": refuse,
            "strftime_now": lambda form: datetime.now().strftime(form),
        }
        self.source, self.special = source, dict(special)
        try:
            self.template = environment.from_string(source)
        except TemplateSyntaxError as error:
            raise InputError(f"the chat template must be Jinja2: {error}", name="chat_template") from None

    @classmethod
    def open(cls, folder: Path, special: Mapping[str, str]) -> ChatTemplate | None:
        """The template of a folder: its file, or the one of its tokenizer's configuration; None if it has none."""
        if (path := folder / FILE).exists():
            return cls(path.read_text(encoding="utf-8", errors="replace"), special)
        source = read_config(folder / CONFIG).get("chat_template")
        if isinstance(source, list):
            named = [item for item in source if isinstance(item, dict)]
            source = next((item.get("template") for item in named if item.get("name") == DEFAULT), None)
        return cls(source, special) if isinstance(source, str) else None

    @property
    def writes_tools(self) -> bool:
        """Whether the template writes out functions that the model may call."""
        return "tools" in self.source

    def prompt(self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]] | None = None) -> str:
        """The text of a conversation, up to where the next answer of the model begins.

        messages: each with "role" and "content".  tools: JSON schemas of functions that the model may call.
        Raises InputError for messages that the template refuses.
        """
        from jinja2 import TemplateError

        for message in messages:
            if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
                raise InputError(
                    f'a message must be a dict with "role" and "content"; got {message!r:.200}',
                    name="messages",
                )
        values = {
            **self.special,
            "messages": [dict(m) for m in messages],
            "tools": tools if tools is None else list(tools),
            "add_generation_prompt": True,
        }
        try:
            return self.template.render(values)
        except (TemplateError, TypeError, ValueError) as error:
            raise InputError(f"the chat template refuses the messages: {error}", name="messages") from None


def to_json(value: object, indent: int | None = None, **options: Any) -> str:
    """The filter `tojson` of Hugging Face's templates, which escapes nothing for HTML."""
    return json.dumps(value, ensure_ascii=False, indent=indent, **options)


def refuse(message: str) -> NoReturn:
    """The function `raise_exception` of templates."""
    from jinja2 import TemplateError

    raise TemplateError(message)
