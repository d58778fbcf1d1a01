"""Options of verbs that generate text: the model, and how tokens are chosen."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import cast

from sardonyx._src.cli.inputs.arguments import parse_mapping
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.errors import InputError
from sardonyx._src.generate.choice.settings import MAX_TOKENS, Settings, SettingsKeywords
from sardonyx._src.generate.generator import Generator


def add_generator(parser: argparse.ArgumentParser) -> None:
    """Adds the model and what describes it."""
    parser.add_argument(
        "source",
        metavar="MODEL",
        help="a folder of onnxruntime-genai, Optimum or Transformers, or the file of a decoder (.onnx)",
    )
    group = parser.add_argument_group("model", "by default, what the folder of the model says")
    group.add_argument("--tokenizer", metavar="PATH", help="a tokenizer.json, or a folder with one")
    group.add_argument(
        "--context", type=int, metavar="N", help="the tokens that prompt and result may have together"
    )
    group.add_argument(
        "--role",
        action="append",
        default=[],
        metavar="ROLE=NAME",
        help="an input or output by its role: tokens, mask, positions, new_positions, past_length, total_length, has_past, "
        "logits; or the output of a cache by its input; may be repeated",
    )
    group.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="DIM=N",
        help="the length of an open dim of the caches; may be repeated",
    )
    group.add_argument(
        "--draft",
        metavar="MODEL",
        help="propose tokens, of which several are read at a time: `lookup` what followed the latest ones before, or what a "
        "smaller model of the same tokens chooses; the result stays the same",
    )
    group.add_argument(
        "--threads", type=int, metavar="N", help="threads of the native engine (all processors)"
    )


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Adds an option for each setting of a generation."""
    group = parser.add_argument_group("tokens", "by default, what the folder of the model recommends")
    group.add_argument(
        "--max-tokens",
        type=int,
        metavar="N",
        help=f"generate at most N tokens ({MAX_TOKENS}); 0: up to the context",
    )
    group.add_argument(
        "--temperature",
        type=float,
        metavar="T",
        help="divide logits by T and draw; 0: take the most probable token",
    )
    group.add_argument("--top-k", type=int, metavar="K", help="draw among the K most probable tokens")
    group.add_argument(
        "--top-p", type=float, metavar="P", help="draw among the fewest tokens of this probability together"
    )
    group.add_argument(
        "--min-p", type=float, metavar="P", help="draw among tokens of this share of the highest probability"
    )
    group.add_argument("--seed", type=int, help="equal seeds draw equal tokens (0)")
    group.add_argument(
        "--repetition-penalty", type=float, metavar="X", help="divide logits of tokens that occurred by X (1)"
    )
    group.add_argument(
        "--presence-penalty",
        type=float,
        metavar="X",
        help="subtract X from logits of tokens of the result (0)",
    )
    group.add_argument(
        "--frequency-penalty",
        type=float,
        metavar="X",
        help="subtract X for each time a token occurs in the result (0)",
    )
    group.add_argument(
        "--stop", action="append", metavar="TEXT", help="end the result before TEXT; may be repeated"
    )


def add_forms(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say what a result must be like."""
    group = parser.add_argument_group("form", "at most one of them")
    group.add_argument(
        "--json-schema",
        metavar="FILE",
        help="the result satisfies the JSON schema of a file; `any` for any JSON",
    )
    group.add_argument("--regex", metavar="PATTERN", help="the whole result matches a regular expression")
    group.add_argument(
        "--grammar", metavar="FILE", help="the whole result matches the Lark grammar of a file"
    )


def open_generator(args: argparse.Namespace, prefix_bytes: int = 0) -> Generator:
    """The generator of the options, which keeps caches of `prefix_bytes`; progress is shown while the model opens."""
    sizes = parse_mapping(args.size, "--size")
    with progress(1, "opening the model", sessions=True, is_quiet=getattr(args, "json", False)):
        draft = args.draft
        if draft not in (None, "lookup"):
            draft = Generator(draft, threads=args.threads)
        return Generator(
            args.source,
            draft=draft,
            tokenizer=args.tokenizer,
            context=args.context,
            roles=parse_mapping(args.role, "--role"),
            sizes={dim: parse_length(dim, text) for dim, text in sizes.items()},
            prefix_bytes=prefix_bytes,
            threads=args.threads,
        )


def parse_length(dim: str, text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"--size {dim} must be a length; got {text!r}", name="--size")
    return int(text)


def read_settings(args: argparse.Namespace) -> SettingsKeywords:
    """The settings that the options state; the others remain those of the model."""
    names = [name for name in SettingsKeywords.__annotations__ if getattr(args, name, None) is not None]
    settings = {name: getattr(args, name) for name in names}
    if settings.get("max_tokens") == 0:
        settings["max_tokens"] = None
    for name in ("json_schema", "grammar"):
        if name in settings:
            settings[name] = read_form(name, settings[name])
    Settings(**settings)  # raises InputError before the model opens
    return cast(SettingsKeywords, settings)


def read_form(name: str, path: str) -> str | bool:
    """The text of the file of a schema or grammar; True for any JSON."""
    if name == "json_schema" and path == "any":
        return True
    return Path(path).read_text(encoding="utf-8")
