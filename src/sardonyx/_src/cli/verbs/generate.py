"""Continue a text with a language model, and print the result while it is generated.

sardonyx generate folder "Once upon a time"
sardonyx generate folder "Once upon a time" --temperature 0.8 --seed 7 --max-tokens 200
sardonyx generate folder --message "Why is the sky blue?"
echo "Once upon a time" | sardonyx generate folder -
sardonyx generate folder "A person as JSON:" --json-schema person.json
sardonyx generate m.onnx --tokenizer tokenizer.json "Once upon a time" --json
sardonyx generate listener --input input_features=features.npy

The model is a folder as onnxruntime-genai, Optimum or Transformers write it, or a decoder's file; inputs and outputs are
recognized by their names and by the graph.  Without --temperature, the most probable tokens are taken unless the folder says
otherwise.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator

import numpy as np

from sardonyx._src.cli.inputs.feeds import read_feeds
from sardonyx._src.cli.inputs.generation import (
    add_forms,
    add_generator,
    add_settings,
    open_generator,
    read_settings,
)
from sardonyx._src.cli.output.generation import Speed, reading_progress
from sardonyx._src.cli.output.models import add_json
from sardonyx._src.cli.output.streams import STANDARD_STREAM, standard_input, write_out
from sardonyx._src.errors import InputError
from sardonyx._src.generate.generator import Generator
from sardonyx._src.generate.prompt import Prompt
from sardonyx._src.generate.results import Generation, Piece, TokenLogprob, collect
from sardonyx._src.ir import Array

HELP = "continue a text with a language model"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_generator(parser)
    parser.add_argument("prompt", nargs="?", help="the text to continue, or - for standard input")
    parser.add_argument(
        "--message",
        metavar="TEXT",
        help="a message of a user, which the chat template of the model writes out",
    )
    parser.add_argument("--system", metavar="TEXT", help="the message of the system before --message")
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an input of the encoder, as the features of speech: a .npy, .pb or .json file or a literal, as of `sardonyx run`; "
        "a prompt is then what the decoder begins with; may be repeated",
    )
    add_settings(parser)
    add_forms(parser)
    parser.add_argument("--min-tokens", type=int, metavar="N", help="generate at least N tokens (0)")
    parser.add_argument("-n", type=int, metavar="N", help="generate N results (1)")
    parser.add_argument(
        "--beams",
        type=int,
        metavar="N",
        help="search with N beams for the most probable result (1: no search)",
    )
    parser.add_argument(
        "--logprobs",
        type=int,
        metavar="K",
        help="with --json, list the K most probable tokens at each place, with their logarithms",
    )
    add_json(parser, "results, tokens and times")


def run(args: argparse.Namespace) -> int:
    prompt, settings = read_prompt(args), read_settings(args)
    if args.logprobs is not None and not args.json:
        raise InputError("--logprobs requires --json", name="--logprobs")
    generator = open_generator(args)
    inputs = read_encoder_inputs(args, generator)
    tokens, count = generator.encode(prompt), args.n or 1
    speed = Speed(len(tokens), generator.draft_stats if generator.draft is not None else None)
    with reading_progress(len(tokens), is_quiet=args.json) as advance:
        pieces = speed.watch(generator.stream(tokens, inputs=inputs, advance=advance, **settings))
        if args.json or count > 1:
            generation = Generation(collect(pieces, count), len(tokens))
            report(generation, speed, args)
        else:
            write_out(texts(pieces, speed))
    if not args.json:
        sys.stderr.write(f"{speed.describe()}\n")
    return 0


def read_prompt(args: argparse.Namespace) -> Prompt:
    """The text of the command line or of standard input, or a conversation."""
    if args.prompt is not None and args.message is not None:
        raise InputError("a prompt or --message must be given, and not both", name="prompt")
    if args.prompt is None and args.message is None and not args.input:
        raise InputError("a prompt, --message or --input must be given", name="prompt")
    if args.system is not None and args.message is None:
        raise InputError("--system requires --message", name="--system")
    if args.message is not None:
        system = [{"role": "system", "content": args.system}] if args.system is not None else []
        return [*system, {"role": "user", "content": args.message}]
    if args.prompt is None:
        return ()
    if args.prompt == STANDARD_STREAM:
        return standard_input().read().decode("utf-8", errors="replace")
    return str(args.prompt)


def read_encoder_inputs(args: argparse.Namespace, generator: Generator) -> dict[str, Array]:
    """The inputs of the encoder that --input states; raises InputError for a model without an encoder."""
    if not args.input:
        return {}
    if generator.encoder is None:
        raise InputError(f"--input requires a model with an encoder; got {args.source}", name="--input")
    feeds = read_feeds(args.input, generator.encoder.session.inputs)
    return {name: np.asarray(value) for name, value in feeds.items()}


def texts(pieces: Iterator[Piece], speed: Speed) -> Iterator[str]:
    """What is printed of pieces, and a newline at the end."""
    for piece in pieces:
        if piece.text:
            yield piece.text
            sys.stdout.flush()
    yield "\n"


def report(generation: Generation, speed: Speed, args: argparse.Namespace) -> None:
    if not args.json:
        numbered = (f"--- {i}\n{result.text}\n" for i, result in enumerate(generation.results, 1))
        write_out(numbered)
        return
    results = [
        {
            "text": result.text,
            "tokens": result.tokens,
            "finish_reason": result.finish_reason,
            **(
                {"logprobs": [logprob_entry(item) for item in result.logprobs]}
                if args.logprobs is not None
                else {}
            ),
        }
        for result in generation.results
    ]
    document = {"results": results, "prompt_tokens": generation.prompt_tokens, **speed.facts()}
    write_out([json.dumps(document, indent=1) + "\n"])


def logprob_entry(item: TokenLogprob) -> dict[str, object]:
    return {
        "token": item.token,
        "logprob": item.logprob,
        "alternatives": [list(entry) for entry in item.alternatives],
    }
