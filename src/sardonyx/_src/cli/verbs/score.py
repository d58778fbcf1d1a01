"""Score a table: run a model on its rows, and write the outputs as columns.

sardonyx score m.onnx in.parquet -o out.parquet
sardonyx score m.onnx in.csv --map years=age --keep id -o out.csv
sardonyx score m.onnx folder --pack x=width,height -o scored/ --rejects bad.jsonl
sardonyx score m.onnx folder --keep country --keep day -o scored/ --partition-by country,day
cat rows.jsonl | sardonyx score m.onnx - --from json -o - --to json

A source is a file of Parquet (.parquet), CSV (.csv), JSON lines (.jsonl) or Arrow IPC (.arrow, .arrows), a folder of such files, an
address of an object store (s3://, gs://, ...), or - for standard input.  Inputs are fed by the columns of their names; the only
input of a model is fed by all numeric columns if no column has its name.

If -o is a folder, the results are part files, and the same command continues a job that was killed at any moment.  A file
appears when it is complete.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.cli.inputs.arguments import parse_mapping, parse_positive
from sardonyx._src.cli.inputs.columns import add_column_maps, parse_columns
from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.destinations import add_output, report_to, report_written
from sardonyx._src.cli.output.models import add_json
from sardonyx._src.cli.output.scoring_progress import scoring_progress
from sardonyx._src.cli.output.streams import STANDARD_STREAM, standard_input
from sardonyx._src.errors import InputError
from sardonyx._src.io.loading.load import ModelSource
from sardonyx._src.runtime.session.session import ENGINES
from sardonyx._src.score.api import MEMORY, score
from sardonyx._src.score.job.summary import ScoreResult
from sardonyx._src.score.model.options import NULLS, VECTORS, Default
from sardonyx._src.tables.formats import FORMATS, SUFFIXES, is_folder

HELP = "run a model on the rows of a table"
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("source", help="the table: a file, a folder, an address, or - for standard input")
    add_output(
        parser,
        suffixes=tuple(SUFFIXES),
        folders=True,
        required=True,
        help="write the results to FILE, or a folder of parts",
    )
    parser.add_argument(
        "--from", dest="source_format", choices=FORMATS, help="the format of the source (by its suffix)"
    )
    parser.add_argument(
        "--to", dest="sink_format", choices=FORMATS, help="the format of the results (by the suffix)"
    )
    parser.add_argument(
        "--partition-by",
        metavar="COLUMN,COLUMN",
        help="columns of the results whose values name the folders of the parts, as country=fr/day=2026-11-23",
    )
    add_columns(parser)
    add_rows(parser)
    add_run(parser)
    add_json(parser, "the summary")


def add_columns(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("columns")
    add_column_maps(group)
    group.add_argument(
        "--output", action="append", metavar="NAME", help="compute only this output; may be repeated"
    )
    group.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="COLUMN",
        help="copy a column of the source to the results; may be repeated",
    )
    group.add_argument(
        "--vectors",
        choices=VECTORS,
        default="lists",
        help="write outputs with several elements a row as one column of lists, or as a column each (%(default)s)",
    )


def add_rows(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("rows")
    group.add_argument(
        "--nulls",
        choices=NULLS,
        default="raise",
        help="treat rows with nulls as bad rows, or feed NaN to inputs of floats (%(default)s)",
    )
    group.add_argument(
        "--default",
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="replace the nulls of a column by a value; may be repeated",
    )
    group.add_argument(
        "--rejects",
        metavar="FILE",
        help="write bad rows to FILE, as JSON lines with row, reason and values, instead of ending at the first one",
    )


def add_run(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("run")
    group.add_argument("--batch", metavar="N", help="rows of a run (default: measured)")
    group.add_argument(
        "--memory",
        default=f"{MEMORY >> 20}M",
        metavar="BYTES",
        help="memory of all batches at a time, as 500M (%(default)s)",
    )
    group.add_argument("--workers", metavar="N", help="threads that run the model (all processors)")
    group.add_argument(
        "--ray",
        nargs="?",
        const=True,
        default=False,
        metavar="ADDRESS",
        help="score on the workers of a cluster of Ray: at ADDRESS or RAY_ADDRESS, or a local one",
    )
    group.add_argument("--engine", default="auto", choices=ENGINES, help="the engine to use (%(default)s)")
    group.add_argument(
        "--restart", action="store_true", help="remove the parts of an earlier job, and start over"
    )


def run(args: argparse.Namespace) -> int:
    model: ModelSource = args.model if args.model.endswith(".sdx") else load_model(args)
    if STANDARD_STREAM == args.model == args.source:
        raise InputError("the model and the source must not both be standard input; got -", name="source")
    if args.source == STANDARD_STREAM:
        standard_input()
    with scoring_progress(args.json) as report, resumable(args):
        result = score(
            model,
            args.source,
            args.out,
            columns=parse_columns(args.map, args.pack),
            outputs=args.output,
            keep=args.keep,
            vectors=args.vectors,
            nulls=args.nulls,
            defaults={
                name: parse_default(text) for name, text in parse_mapping(args.default, "--default").items()
            },
            rejects=args.rejects,
            source_format=args.source_format,
            sink_format=args.sink_format,
            partition_by=() if args.partition_by is None else args.partition_by.split(","),
            batch_rows=None if args.batch is None else parse_positive(args.batch, "--batch"),
            memory=parse_bytes(args.memory),
            workers=None if args.workers is None else parse_positive(args.workers, "--workers"),
            restart=args.restart,
            ray=args.ray,
            engine=args.engine,
            report=report,
        )
    print_summary(result, args)
    return 0


@contextmanager
def resumable(args: argparse.Namespace) -> Iterator[None]:
    """Prints, if the block is interrupted, how to continue the job of a folder."""
    try:
        yield
    except KeyboardInterrupt:
        if args.out != STANDARD_STREAM and is_folder(args.out):
            sys.stderr.write(
                "sardonyx: interrupted; the same command continues after the last complete part\n"
            )
        raise


def parse_default(text: str) -> Default:
    """A number or truth value in JSON's syntax, or the string itself."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float | bool) else text


def parse_bytes(text: str) -> int:
    """A number of bytes with an optional unit, as 500M."""
    number, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1)
    if not number.isdecimal() or int(number) < 1:
        raise InputError(f"--memory must be a number of bytes, as 500M or 1G; got {text!r}", name="--memory")
    return int(number) * unit


def print_summary(result: ScoreResult, args: argparse.Namespace) -> None:
    """Prints what was scored, and what was written."""
    if args.json:
        sys.stdout.write(json.dumps(result.as_json(), indent=1) + "\n")
    else:
        rejected = f", {result.rejected:,} rejected" if result.rejected else ""
        resumed = f", {result.resumed_rows:,} of them earlier" if result.resumed_rows else ""
        report_to(
            args,
            f"{result.rows:,} rows{resumed}{rejected} in {result.seconds:.1f} s ({result.rows_per_second:,.0f} rows/s, "
            f"{result.workers} workers, batches of {result.batch_rows:,})\n",
        )
    report_written(args, args.out, *([] if args.rejects is None else [args.rejects]))
