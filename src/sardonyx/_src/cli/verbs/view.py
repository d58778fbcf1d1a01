"""Show a model in a browser: its graph with every attribute, type, weight, nested graph and finding.

sardonyx view m.onnx
sardonyx view m.onnx --no-browser
sardonyx view m.onnx -o m.html
sardonyx view m.onnx -o m.html --weights
sardonyx view m.onnx --svg m.svg --png m.png
sardonyx view m.onnx --svg body.svg --graph loop.body
sardonyx view a.onnx b.onnx
sardonyx view a.onnx b.onnx --random 0 --dim N=8
sardonyx view m.onnx --profile --dim N=8
sardonyx view q.onnx --report report.json

Without -o a server on this machine shows the model until Ctrl-C; only this machine reaches it, under an address that cannot be
guessed.  With -o the page is one file that needs neither server nor network.  --svg and --png write pictures (extra `view`) of the
main graph, or of the graph that --graph names.  A broken model is shown, too, with what is wrong.

Of two models the difference is shown: matched nodes, and changes of nodes, attributes, types and weights.  With --feed or --random
both models run on the same inputs, and the first value that differs is shown.

With --profile the model runs on the native engine, on random inputs or those of --feed: the page shows the time of each node, its
share of the machine's peak, the nodes that the compiler has fused, and the memory of the run.

With --report the page shows the errors of the layers of a quantized model, as `sardonyx quantize --json` reports them.

Exit codes: 0 success, 1 the document cannot be read, 2 usage error.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from sardonyx._src.cli.inputs.arguments import OTHER_SIZES, parse_dims
from sardonyx._src.cli.inputs.documents import DocumentSource
from sardonyx._src.cli.inputs.models import add_model, load_model, operator_sets
from sardonyx._src.cli.output.destinations import add_output, report_written, write_file
from sardonyx._src.cli.output.models import add_json
from sardonyx._src.cli.verbs.show import KINDS, add_graph
from sardonyx._src.errors import InputError
from sardonyx._src.view.pages import Page, file_title, view

HELP = "show a model in a browser"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("other", nargs="?", help="model file to compare with")
    add_output(
        parser, suffixes=(".html",), help="write the page to FILE, a .html file, instead of serving it"
    )
    add_output(parser, "--svg", suffixes=(".svg",), help="write the picture of a graph to FILE, a .svg file")
    add_output(parser, "--png", suffixes=(".png",), help="write the picture of a graph to FILE, a .png file")
    add_graph(parser, "with --svg and --png")
    parser.add_argument("--dark", action="store_true", help="with --svg and --png: draw light on dark")
    parser.add_argument(
        "--weights",
        action="store_true",
        help="put the elements of all weights into the page, with -o and --json",
    )
    parser.add_argument(
        "--no-browser", dest="browser", action="store_false", help="print the address, and open no browser"
    )
    parser.add_argument(
        "--kind", choices=KINDS, help="kind of document, if neither magic number nor contents identify it"
    )
    parser.add_argument(
        "--feed",
        action="append",
        default=[],
        metavar="INPUT",
        help="inputs of --profile or of two models, as for `sardonyx run`; missing ones are random; may be repeated",
    )
    parser.add_argument(
        "--random",
        type=int,
        metavar="SEED",
        help="run two models, or --profile, on random inputs with this seed",
    )
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help=f"length of a dimension variable, or of INPUT:AXIS, for random inputs; {OTHER_SIZES}",
    )
    profile = parser.add_mutually_exclusive_group()
    profile.add_argument(
        "--profile", action="store_true", help="run the model, and show the time of its nodes and its memory"
    )
    profile.add_argument(
        "--stored-profile",
        metavar="FILE",
        help="show the times in a file that `sardonyx profile --json` has written",
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="show the errors of layers in a file that `sardonyx quantize --json` has written, as colors",
    )
    add_json(parser, "the data of the page")


def run(args: argparse.Namespace) -> int:
    page = page_of_models(args)
    if args.json:
        sys.stdout.write(json.dumps(page.data, allow_nan=False) + "\n")
    written = write_files(page, args)
    if written:
        report_written(args, *written)
    elif not args.json:
        page.serve(browser=args.browser)
    return 0


def write_files(page: Page, args: argparse.Namespace) -> list[str]:
    """Writes the page and the pictures that the options request, and returns their paths."""
    if args.graph is not None and args.svg is None and args.png is None:
        raise InputError("--graph requires --svg or --png; got neither", name="graph")
    outputs: dict[str | None, Callable[[str], object]] = {
        args.out: page.save,
        args.svg: lambda path: Path(path).write_text(
            page.svg(dark=args.dark, graph=args.graph or "main"), "utf-8"
        ),
        args.png: lambda path: Path(path).write_bytes(page.png(dark=args.dark, graph=args.graph or "main")),
    }
    paths = [path for path in outputs if path is not None]
    for path in paths:
        write_file(path, outputs[path])
    return paths


def page_of_models(args: argparse.Namespace) -> Page:
    """The page of the documents that the command line names."""
    names = [args.model] if args.other is None else [args.model, args.other]
    if names == ["-", "-"]:
        raise InputError("standard input must be one model; got - twice", name="other")
    title = " – ".join(map(file_title, names))
    documents = [DocumentSource(name, args.kind) for name in names]
    if args.other is None and not args.profile and (args.feed or args.random is not None):
        raise InputError("--feed and --random require a second model or --profile; got neither", name="other")
    return view(
        documents[0].source,
        documents[1].source if args.other is not None else None,
        title=title,
        kind=documents[0].kind,
        weights=args.weights,
        profile=args.stored_profile or args.profile,
        report=args.report,
        feeds=feeds_of(args),
        dims=parse_dims(args.dim),
        seed=args.random or 0,
        policy=args.policy,
        operator_sets=operator_sets(args),
        verify_checksums=args.verify_checksums,
    )


def feeds_of(args: argparse.Namespace) -> Mapping[str, object] | None:
    """The inputs of both models, or None if they are not to run."""
    if not args.feed:
        return None if args.random is None else {}
    from sardonyx._src.cli.inputs.feeds import read_feeds  # lazy: loads the compiler
    from sardonyx._src.measure.feeds import ports_of

    return read_feeds(args.feed, ports_of(load_model(args)))
