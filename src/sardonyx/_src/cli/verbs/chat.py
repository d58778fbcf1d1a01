"""Talk with a language model: the answer to each line appears while it is generated.

sardonyx chat folder
sardonyx chat folder --system "Answer in one sentence." --temperature 0.7
sardonyx chat folder --json < questions.txt

The chat template of the model writes the conversation out.  A line that ends in a backslash goes on in the next one.  Ctrl-C
ends an answer, and the end of the input or /exit the conversation.  Other commands: /clear begins anew, /undo forgets the last
turn, /system TEXT changes the message of the system and begins anew, /help lists them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import closing, suppress

from sardonyx._src.cli.inputs.generation import add_generator, add_settings, open_generator, read_settings
from sardonyx._src.cli.output.generation import Speed, reading_progress
from sardonyx._src.cli.output.models import add_json
from sardonyx._src.cli.output.streams import write_out
from sardonyx._src.errors import InputError
from sardonyx._src.generate.choice.settings import SettingsKeywords
from sardonyx._src.generate.conversation import Conversation

HELP = "talk with a language model"
PROMPT, CONTINUED = "> ", ". "
PREFIX_BYTES = 1 << 30  # of caches of the conversation so far, which the next turn continues
COMMANDS = (
    "/clear begins anew; /undo forgets the last turn; /system TEXT changes the system's message; /exit ends"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    add_generator(parser)
    parser.add_argument(
        "--system", default="", metavar="TEXT", help="the message of the system before the first one"
    )
    add_settings(parser)
    add_json(parser, "each answer, with its tokens and times, as a line of")


def run(args: argparse.Namespace) -> int:
    settings = read_settings(args)
    generator = open_generator(args, prefix_bytes=PREFIX_BYTES)
    if generator.chat_template is None:
        raise InputError(
            f"a conversation requires a chat template, and {args.source} has none: use `sardonyx generate`",
            name="MODEL",
        )
    conversation = Conversation(generator, args.system)
    for line in read_lines():
        if line.startswith("/"):
            if not command(line, conversation):
                break
            continue
        try:
            answer(line, conversation, settings, is_json=args.json)
        except InputError as error:  # a conversation that no longer fits, for example
            sys.stderr.write(f"sardonyx: {error}\n")
            if not sys.stdin.isatty():
                return 2
    return 0


def read_lines() -> Iterator[str]:
    """What the user writes, with history and editing on a terminal; empty lines are left out."""
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        with suppress(ImportError):  # not on every platform
            import readline  # noqa: F401  # `input` then edits lines and has a history
    parts: list[str] = []
    while True:
        try:
            line = input((CONTINUED if parts else PROMPT) if is_terminal else "")
        except EOFError:
            break
        if line.endswith("\\"):
            parts.append(line[:-1])
            continue
        text, parts = "\n".join([*parts, line]), []
        if text.strip():
            yield text
    if parts:
        yield "\n".join(parts)


def command(line: str, conversation: Conversation) -> bool:
    """Executes a command; whether the conversation goes on."""
    word, _, rest = line[1:].partition(" ")
    if word == "exit":
        return False
    if word == "undo" and conversation.turns:
        conversation.turns.pop()
    elif word in ("clear", "system"):
        conversation.turns.clear()
        conversation.system = rest if word == "system" else conversation.system
    else:
        sys.stderr.write(COMMANDS + "\n")
    return True


def answer(line: str, conversation: Conversation, settings: SettingsKeywords, *, is_json: bool) -> None:
    """Prints the answer to a message; Ctrl-C ends it."""
    generator = conversation.generator
    tokens = len(generator.encode([*conversation.messages, {"role": "user", "content": line}]))
    speed = Speed(tokens, generator.draft_stats if generator.draft is not None else None)
    with reading_progress(tokens, is_quiet=is_json) as advance:
        pieces = conversation.ask(line, advance=advance, **settings)
        with closing(pieces), suppress(KeyboardInterrupt):  # type: ignore[type-var]  # a generator
            for piece in speed.watch(pieces):
                if piece.text and not is_json:
                    write_out([piece.text])
    if is_json:
        text = conversation.turns[-1][1]
        write_out([json.dumps({"text": text, "prompt_tokens": tokens, **speed.facts()}) + "\n"])
    else:
        write_out(["\n"])
        sys.stderr.write(f"({speed.describe()})\n")
