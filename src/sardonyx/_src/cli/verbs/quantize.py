"""Quantize a model, and report the error, the size and the speed of the result.

sardonyx quantize m.onnx -o q.onnx --scheme int4 --data calibration.npz
sardonyx quantize m.onnx -o q.onnx --scheme int8-weights --except '*lm_head*'
sardonyx quantize m.onnx -o q.onnx --scheme int8 --data pictures/ --ranges percentile
sardonyx quantize m.onnx -o q.onnx --scheme int8 --data rows.csv --pack x=width,height
sardonyx quantize m.onnx -o q.onnx --scheme int8 --data images.npz --accuracy 0.005 --metric top-1
sardonyx quantize m.onnx -o q.onnx --scheme mixed --size 0.25 --data calibration.npz
sardonyx quantize m.onnx -o h.onnx --scheme float16 --io half --data calibration.npz
sardonyx quantize m.onnx --algorithm gptq --data batch_0.npz --data batch_1.npz --report

A model with external data is written with external data.  Without -o, prints the report and writes nothing.  A layer that
would be slower on this machine stays as it is, unless `--force` says otherwise.
"""

from __future__ import annotations

import argparse
import json
import sys

from sardonyx._src.cli.inputs.arguments import parse_dims
from sardonyx._src.cli.inputs.calibration import read_calibration
from sardonyx._src.cli.inputs.columns import add_column_maps, parse_columns
from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.destinations import report_to
from sardonyx._src.cli.output.models import add_json, add_out, set_model_version, write_model
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.cli.output.summary import locations, weights
from sardonyx._src.cli.output.tables import format_table, line_width
from sardonyx._src.measure.feeds import ports_of
from sardonyx._src.quantize.api import quantize
from sardonyx._src.quantize.schemes.table import SCHEMES

HELP = "quantize a model: weights of 4 or 8 bits, integers or half precision throughout"
COLUMNS = ("share", "dB alone", "dB", "bits", "weight", "layer")
HALF_SCHEMES = ("float16", "bfloat16")


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_out(parser, "the quantized model", required=False)
    summaries = "; ".join(f"{name}: {entry.summary}" for name, entry in SCHEMES.items())
    parser.add_argument("--scheme", choices=SCHEMES, default="int4", help=f"{summaries} (%(default)s)")
    parser.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="FILE",
        help="calibration data: a .npz file, a table (Parquet, CSV, JSON lines, Arrow IPC), a folder of such files, of .npy "
        "files by input or of pictures, or inputs as for `sardonyx run`; may be repeated",
    )
    add_column_maps(parser)
    parser.add_argument(
        "--format",
        metavar="NAME",
        help="qdq; com.microsoft for MatMulNBits and GatherBlockQuantized; of int8, qoperator for QLinearConv and "
        "QLinearMatMul (qdq)",
    )
    add_weight_arguments(parser)
    add_integer_arguments(parser)
    parser.add_argument(
        "--io",
        choices=("half", "float32"),
        help="types of inputs and outputs, of float16, bfloat16 and float32 (as they are)",
    )
    parser.add_argument(
        "--bound",
        type=float,
        metavar="DB",
        help="least signal-to-noise ratio of an output, of float16 (40) and bfloat16 (25); of a layer, of int8 and int8-dynamic (25)",
    )
    parser.add_argument(
        "--nodes",
        action="append",
        default=[],
        metavar="PATTERN",
        help="quantize only nodes and weights whose names match, as '*attn*'; may be repeated",
    )
    parser.add_argument(
        "--except",
        dest="exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="leave nodes and weights as they are whose names match; may be repeated",
    )
    parser.add_argument("--force", action="store_true", help="also quantize layers that become slower here")
    parser.add_argument("--seed", type=int, default=0, help="seed of random data (%(default)s)")
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="length of a dimension variable of random data; may be repeated",
    )
    parser.add_argument("--report", action="store_true", help="print the report with each layer, with -o too")
    add_json(parser, "the report")


def add_weight_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the schemes of weights alone."""
    group = parser.add_argument_group("weights alone: int4, int8-weights and mixed")
    group.add_argument(
        "--algorithm",
        metavar="NAME",
        help="how they are rounded: nearest, clipped, hqq, awq, gptq or adaround (clipped)",
    )
    group.add_argument(
        "--block",
        type=int,
        metavar="N",
        help="terms of a sum that share a scale, a power of two; 0 for all (32)",
    )
    group.add_argument(
        "--asymmetric", action="store_true", help="unsigned integers with a zero point for each block"
    )
    group.add_argument(
        "--outliers",
        type=float,
        metavar="SHARE",
        help="share of the terms of MatMul that stay floats, in a second small product, unless that is slower (0)",
    )
    group.add_argument(
        "--size", type=float, metavar="SHARE", help="of mixed: at most this share of the original's size"
    )
    group.add_argument(
        "--latency",
        type=float,
        metavar="SHARE",
        help="of mixed: at most this share of the original's time on this machine, predicted from times of layers",
    )
    group.add_argument(
        "--signal-to-noise",
        type=float,
        metavar="DB",
        help="of mixed: at least this ratio of each output and its error, in decibels",
    )


def add_integer_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of static int8."""
    group = parser.add_argument_group("static int8")
    group.add_argument(
        "--ranges", metavar="NAME", help="of activations: min-max, percentile, entropy or mse (min-max)"
    )
    group.add_argument(
        "--activations", metavar="TYPE", help="uint8 or int8 (uint8); float8 of the scheme float8"
    )
    group.add_argument(
        "--equalize", metavar="NAME", help="smooth (SmoothQuant) or cross-layer: make ranges equal before"
    )
    group.add_argument(
        "--bias-correction",
        action="store_true",
        default=None,
        help="subtract the mean error of rounded weights",
    )
    group.add_argument(
        "--pairs",
        metavar="NAME",
        help="fused, or all: results of layers, too, as onnxruntime needs it (fused)",
    )
    group.add_argument(
        "--accuracy",
        type=float,
        metavar="LOSS",
        help="return layers to floats until the loss is at most this one",
    )
    group.add_argument(
        "--metric", metavar="NAME", help="the loss: mse (relative squared error) or top-1 (mse)"
    )
    group.add_argument(
        "--resume", metavar="FILE", help="losses that were measured, so that a search can go on"
    )


def run(args: argparse.Namespace) -> int:
    model = load_model(args)
    with progress(1, "quantizing", sessions=True, is_quiet=args.json):
        result = quantize(
            model,
            args.scheme,
            data=read_calibration(args.data, ports_of(model)),
            columns=parse_columns(args.map, args.pack) or None,
            algorithm=args.algorithm,
            block=args.block,
            symmetric=False if args.asymmetric else None,
            ranges=args.ranges,
            activations=args.activations,
            equalize=args.equalize,
            bias_correction=args.bias_correction,
            format=args.format,
            outliers=args.outliers,
            size=args.size,
            signal_to_noise=args.signal_to_noise,
            latency=args.latency,
            pairs=args.pairs,
            accuracy=args.accuracy,
            metric=args.metric,
            resume=args.resume,
            keep_types=None if args.io is None else (args.io == "half") != (args.scheme in HALF_SCHEMES),
            bound=args.bound,
            nodes=args.nodes,
            exclude=args.exclude,
            force=args.force,
            shares=args.json or args.report or args.out is None,
            seed=args.seed,
            dims=parse_dims(args.dim),
        )
    set_model_version(result.model, args)
    if args.json:
        sys.stdout.write(json.dumps(result.report.as_json(), indent=1) + "\n")
    else:
        rows = result.report.rows() if args.report or args.out is None else []
        table = format_table(COLUMNS, rows, 4, line_width()) if rows else ()
        report_to(args, "".join(f"{printable(line)}\n" for line in (*table, *result.report.summary())))
    if args.out is not None:
        has_data = any(True for _ in locations(weights(model)))
        write_model(result.model, args, external=True if has_data else None)
    return 0
