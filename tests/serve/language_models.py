"""Folders of language models that answer known texts, and an application that serves them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import AddedToken

from generate.decoders import chain_decoder, encoder
from generate.folders import byte_tokenizer, word_tokenizer, write_folder
from sardonyx._src.serve.models.repository import ModelRepository
from sardonyx._src.serve.openai.interface import OpenAiInterface
from sardonyx._src.serve.protocol.service_limits import ServiceLimits
from sardonyx._src.serve.rest.application import RestApplication
from serve.asgi_client import Response, request

CONTEXT = 4096
CALL = '{"name": "add", "arguments": {"a": 1, "b": 2}}'
# What follows each character, token by token.
SCRIPTS: Mapping[str, Sequence[str]] = {
    ":": ("Hel", "lo ", "world", "<eos>"),
    "!": ("I add. ", "<tool_call>\n", CALL, "\n</tool_call>", "<eos>"),
    "?": ("<tool_call>{}", "</tool_call>", " was no call", "<eos>"),
    "@": ("for", "ever, ", "ever, "),
}
# Ends a prompt by the text of the last message, or by "!" if the model may call tools.
TEMPLATE = r"""{# <tool_call> #}{% for message in messages %}{{ message.role }}={{ message.content }}{% if message.tool_calls %}
{{ message.tool_calls[0].function.arguments | tojson }}{% endif %}{{ "\n" }}{% endfor %}
{% if tools %}{{ tools | tojson }}!{% endif %}
{% if messages[-1].content == "chapter" %}@{% elif messages[-1].content == "odd" %}?{% elif not tools %}:{% endif %}"""


def write_scripted(folder: Path, template: str = TEMPLATE) -> Path:
    """A model with tokens of bytes and of the scripts' texts.  After a character that begins a script, it follows the script."""
    library = byte_tokenizer()
    texts = dict.fromkeys(text for script in SCRIPTS.values() for text in script if text != "<eos>")
    library.add_tokens([AddedToken(text, normalized=False) for text in texts])
    library.add_special_tokens(["<eos>"])
    size, end = library.get_vocab_size(), library.token_to_id("<eos>")
    chain = np.random.default_rng(5).standard_normal((size, size)).astype(np.float32)
    chain[:, end] -= 20
    for begin, script in SCRIPTS.items():
        tokens = [library.token_to_id(text) for text in (begin, *script)]
        for token, following in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
            chain[token, following] = 60
    config = {"max_position_embeddings": CONTEXT, "eos_token_id": end}
    write_folder(folder, chain_decoder(chain), library=library, files={"config.json": config})
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    return folder


def write_encoder(folder: Path) -> Path:
    """The encoder of tests/generate, with the words w0 to w6 as tokens and a context of 4."""
    files: dict[str, Any] = {"sentence_bert_config.json": {"max_seq_length": 4}}
    return write_folder(folder, encoder(), library=word_tokenizer(), files=files)


def open_application(folder: Path, limits: ServiceLimits | None = None, **options: Any) -> RestApplication:
    """The application of a repository, whose models are open.  options: of the application."""
    repository = ModelRepository.of_folder(folder)
    asyncio.run(repository.load_all())
    assert repository.is_ready, list(repository.index())
    return RestApplication(repository, "1", limits, interfaces=[OpenAiInterface()], **options)


def post(app: RestApplication, path: str, **body: object) -> Response:
    """The response to a request of the interface."""
    return asyncio.run(request(app, "POST", f"/v1/{path}", body))


def events_of(response: Response) -> list[Any]:
    """The events of a stream, without the last one."""
    lines = response.body.decode().split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
