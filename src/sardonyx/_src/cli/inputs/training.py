"""The training step of models without one, from the command line: loss, optimizer, adapters, fake quantization."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.ir import Model
from sardonyx._src.phases import phase
from sardonyx._src.quantize.calibration_columns import fitted
from sardonyx._src.quantize.training.fake_quantization import FAKE_SCHEMES, add_fake_quantization
from sardonyx._src.train.adapters import ADAPTER_WEIGHTS, add_adapters
from sardonyx._src.train.fit.data import DataSource
from sardonyx._src.train.losses.table import LOSSES
from sardonyx._src.train.optimizers.base import Optimizer
from sardonyx._src.train.optimizers.schedules import CosineSchedule, Schedule, StepSchedule, WarmUp
from sardonyx._src.train.optimizers.table import OPTIMIZERS, optimizer_class
from sardonyx._src.train.prepare.initialization import DISTRIBUTIONS
from sardonyx._src.train.prepare.prepare import prepare
from sardonyx._src.train.prepare.selection import ParameterGroup

# Options that are parameters of `prepare`, options of adapters, and all options that only a model without training step has.
PARAMETERS = (
    "loss",
    "output",
    "target",
    "trainable",
    "frozen",
    "clip_norm",
    "clip_value",
    "accumulate",
    "initialization",
    "loss_scale",
    "checkpointing",
)
CALIBRATION_ROWS = 256  # of the data, by which the ranges of --quantize are chosen: some dozens would do
ADAPTERS = ("adapters", "adapter_alpha", "adapter_targets")
PREPARATION = (
    *PARAMETERS,
    *ADAPTERS,
    "quantize",
    "optimizer",
    "rate",
    "schedule",
    "warm_up",
    "weight_decay",
    "group",
)


def add_preparation(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("preparation", "of models without training information")
    group.add_argument("--loss", choices=sorted(LOSSES), help="the loss (cross_entropy)")
    group.add_argument("--optimizer", choices=sorted(OPTIMIZERS), help="the optimizer (adam)")
    group.add_argument(
        "--rate", type=float, metavar="R", help="the learning rate, or the largest one of a schedule"
    )
    group.add_argument(
        "--schedule",
        choices=["constant", "cosine", "step"],
        help="the rate over the run: constant, half a cosine down to 0, or a tenth after each third (constant)",
    )
    group.add_argument(
        "--warm-up", type=int, metavar="N", help="raise the rate linearly over the first N steps"
    )
    group.add_argument("--weight-decay", type=float, metavar="D", help="weight decay of the optimizer")
    group.add_argument("--output", metavar="NAME", help="the value that the loss compares with the target")
    group.add_argument("--target", metavar="NAME", help="the name of the input for the target (target)")
    for name, what in (("trainable", "train only"), ("frozen", "do not train")):
        group.add_argument(
            f"--{name}",
            action="append",
            metavar="PATTERN",
            help=f"{what} initializers whose names match, as 'head.*'; may be repeated",
        )
    group.add_argument(
        "--clip-norm", type=float, metavar="X", help="the largest norm of all gradients together"
    )
    group.add_argument(
        "--clip-value", type=float, metavar="X", help="the largest magnitude of an element of a gradient"
    )
    group.add_argument(
        "--loss-scale",
        type=float,
        metavar="X",
        help="the factor of the loss of half-precision models (adapted during the run for float16, else 1)",
    )
    group.add_argument(
        "--group",
        action="append",
        metavar="PATTERN:rate_factor=F,weight_decay=D",
        help="multiply the rate, or replace the weight decay, of the parameters whose names match; may be repeated",
    )
    group.add_argument(
        "--adapters",
        type=int,
        metavar="RANK",
        help="train low-rank adapters of this rank instead of the weights",
    )
    group.add_argument(
        "--adapter-alpha", type=float, metavar="A", help="the factor of adapters times their rank (the rank)"
    )
    group.add_argument(
        "--adapter-targets",
        action="append",
        metavar="PATTERN",
        help="weights of MatMul and Gemm nodes that get adapters (all); may be repeated",
    )
    group.add_argument(
        "--quantize",
        choices=FAKE_SCHEMES,
        help="train with the rounded weights, of int8 also activations, that this scheme of `sardonyx quantize` gives the "
        "model, and write the quantized model",
    )
    group.add_argument(
        "--accumulate", type=int, metavar="N", help="steps whose mean gradient makes one update (1)"
    )
    group.add_argument(
        "--checkpointing",
        type=memory_goal,
        metavar="auto|BYTES",
        help="compute results of nodes again for the gradients, instead of keeping them, to need as little memory as possible, "
        "or at most BYTES",
    )
    group.add_argument(
        "--initialization",
        choices=DISTRIBUTIONS,
        help="begin with weight matrices drawn from this distribution instead of those of the model",
    )


def memory_goal(text: str) -> int | str:
    """A number of bytes, or the string itself, which `prepare` checks."""
    return int(text) if text.isdecimal() else text


@phase("gradients")
def prepare_model(model: Model, args: argparse.Namespace, data: DataSource) -> Model:
    """The model with the training step that the options describe."""
    options = {name: getattr(args, name) for name in PARAMETERS}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if args.group:
        given["groups"] = [parse_group(text) for text in args.group]
    model = adapt(model, args, data)
    if args.adapters is not None:
        given.setdefault("trainable", ADAPTER_WEIGHTS)
    return prepare(model, optimizer=make_optimizer(args, data), seed=args.seed, **given)


def adapt(model: Model, args: argparse.Namespace, data: DataSource) -> Model:
    """The model with adapters, or with fake quantization, if the options ask for them."""
    if args.quantize is not None:
        return with_fake_quantization(model, args, data)
    if args.adapters is not None:
        return add_adapters(
            model, args.adapters, alpha=args.adapter_alpha, targets=args.adapter_targets, seed=args.seed
        )
    if args.adapter_alpha is not None or args.adapter_targets is not None:
        raise InputError(
            "--adapter-alpha and --adapter-targets require --adapters; got none", name="--adapters"
        )
    return model


def with_fake_quantization(model: Model, args: argparse.Namespace, data: DataSource) -> Model:
    """The model with fake quantization; the first rows of the data are the calibration data."""
    for name in ("adapters", "initialization"):
        if getattr(args, name) is not None:
            raise InputError(f"--quantize must be without --{name}, whose weights are not those of the model; got both", name="--quantize")  # fmt: skip
    assert isinstance(data, Mapping), "the columns were read"
    inputs = {value.name: value for value in model.graph.inputs if value.name in data}
    rows = {name: fitted(value, np.asarray(data[name])[:CALIBRATION_ROWS]) for name, value in inputs.items()}
    return add_fake_quantization(model, args.quantize, data=rows, seed=args.seed)


def parse_group(text: str) -> ParameterGroup:
    """A group as `PATTERN:rate_factor=F,weight_decay=D`."""
    pattern, _, settings = text.rpartition(":")
    numbers: dict[str, float] = {}
    for setting in settings.split(","):
        name, _, number = setting.partition("=")
        try:
            numbers[name] = float(number)
        except ValueError:
            numbers = {}
        if name not in ("rate_factor", "weight_decay") or name not in numbers or not pattern:
            raise InputError(
                f"--group must be PATTERN:rate_factor=F,weight_decay=D, or one of both settings; got {text!r}",
                name="--group",
            )
    return ParameterGroup(pattern, **numbers)


def make_optimizer(args: argparse.Namespace, data: DataSource) -> Optimizer:
    """The optimizer with the rate, schedule and weight decay that the options state."""
    kind = optimizer_class(args.optimizer or "adam")
    given = {} if args.weight_decay is None else {"weight_decay": args.weight_decay}
    default = kind().rate
    assert isinstance(default, float), "no optimizer has a schedule by default"
    rate = default if args.rate is None else args.rate
    schedule: Schedule | float = rate
    if args.schedule in ("cosine", "step"):
        assert isinstance(data, Mapping), "the columns were read"
        examples = max((len(values) for values in data.values() if hasattr(values, "__len__")), default=1)
        updates = max(args.epochs * -(-examples // max(args.batch, 1)) // (args.accumulate or 1), 1)
        if args.schedule == "cosine":
            schedule = CosineSchedule(rate, steps=updates)
        else:
            schedule = StepSchedule(rate, every=-(-updates // 3))
    if args.warm_up is not None:
        schedule = WarmUp(args.warm_up, schedule)
    return kind(rate=schedule, **given)


def refuse_preparation(args: argparse.Namespace) -> None:
    """Raises InputError for an option that prepares a training step, since the model has one."""
    for name in PREPARATION:
        if getattr(args, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise InputError(
                f"{option} is for models without training information; this model has some", name=option
            )
