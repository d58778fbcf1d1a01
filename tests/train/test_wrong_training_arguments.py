"""Wrong arguments of `sardonyx.train`: what is not accepted is an error of ours, by itself or when it is used."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
import sardonyx.train as public_train
from models import parse_model
from public_face import Call
from test_wrong_arguments import WRONG, error_of, is_deliberate

MODEL = "g (float[N,2] x) => (float[N,3] y) <float[2,3] w = {1, 2, 3, 4, 5, 6}> { y = MatMul(x, w) }"
FEEDS = {"x": np.ones((4, 2), np.float32), "target": np.array([0, 1, 2, 0], np.int64)}
REDUCTION = {"reduction": "mean"}
RATE = {"rate": 0.1, "weight_decay": 0.0}
BETAS = {**RATE, "betas": (0.9, 0.99)}
LOSSES: dict[str, Mapping[str, object]] = {
    "BCEWithLogits": {"positive_weights": [1.0, 1.0, 1.0], **REDUCTION},
    "CTC": {"blank": 0, "batch_first": False, "zero_infinity": False, **REDUCTION},
    "CrossEntropy": {"weights": [1.0, 1.0, 1.0], "ignore_index": 0, "smoothing": 0.0, "axis": 1, **REDUCTION},
    "Huber": {"delta": 1.0, **REDUCTION},
    "MAE": REDUCTION,
    "MSE": REDUCTION,
    "NLL": {"weights": [1.0, 1.0, 1.0], "ignore_index": 0, "axis": 1, **REDUCTION},
}
OPTIMIZERS: dict[str, Mapping[str, object]] = {
    "Adagrad": {**RATE, "rate_decay": 0.0, "epsilon": 1e-10, "as_operator": False},
    "Adam": {**BETAS, "epsilon": 1e-8, "as_operator": False},
    "AdamW": {**BETAS, "epsilon": 1e-8},
    "Lion": BETAS,
    "Momentum": {**RATE, "momentum": 0.9, "as_operator": False},
    "Nesterov": {**RATE, "momentum": 0.9, "as_operator": False},
    "RMSProp": {**RATE, "smoothing": 0.9, "epsilon": 1e-8, "momentum": 0.0, "centred": False},
    "SGD": RATE,
}
SCHEDULES: dict[str, Mapping[str, object]] = {
    "ConstantSchedule": {"rate": 0.1},
    "CosineSchedule": {"rate": 0.1, "steps": 10, "final": 0.0},
    "StepSchedule": {"rate": 0.1, "every": 2, "factor": 0.1},
    "WarmUp": {"steps": 2, "after": 0.1},
}
SETTINGS: dict[str, tuple[str, Mapping[str, object]]] = {
    "LossScale": ("loss_scale", {"initial": 4.0, "growth": 2.0, "backoff": 0.5, "interval": 10}),
    "ParameterGroup": ("groups", {"names": ["w"], "rate_factor": 1.0, "weight_decay": 0.0}),
}
RECORDS = {"EpochRecord", "FitResult", "TrainingStatus", "TrainingDiverged"}  # of results, which callers read
BASES = {"Loss", "Optimizer", "Schedule"}


def model() -> sx.Model:
    return parse_model(MODEL, opset=21)


def prepare_options() -> dict[str, object]:
    return {
        "model": model(),
        "loss": "cross_entropy",
        "optimizer": "sgd",
        "output": "y",
        "target": "target",
        "trainable": ["w"],
        "frozen": [],
        "groups": [],
        "clip_norm": 1.0,
        "clip_value": 1.0,
        "accumulate": 2,
        "training_mode": True,
        "loss_scale": None,
        "initialization": None,
        "seed": 0,
        "checkpointing": "auto",
    }


def fit_options() -> dict[str, object]:
    return {
        "model": public_train.prepare(model(), optimizer="sgd"),
        "data": FEEDS,
        "validation": None,
        "epochs": 1,
        "batch_size": 4,
        "shuffle": False,
        "seed": 0,
        "initialize": False,
        "folder": None,
        "resume": True,
        "checkpoint_seconds": 60.0,
        "patience": None,
        "monitor": "loss",
        "engine": "reference",
        "threads": 1,
        "limits": None,
        "report": None,
    }


def fake_options() -> dict[str, object]:
    return {
        "model": model(),
        "scheme": "int8-weights",
        "data": {"x": FEEDS["x"]},
        "columns": None,
        "algorithm": "clipped",
        "block": 32,
        "symmetric": True,
        "ranges": None,
        "activations": None,
        "nodes": ["*"],
        "exclude": [],
        "seed": 0,
        "dims": None,
    }


def through_prepare(name: str, keyword: str, arguments: Mapping[str, object]) -> Call:
    """A constructor, the result of which is used."""

    def use(**values: object) -> None:
        setting = getattr(public_train, name)(**values)
        options: dict[str, object] = {
            "optimizer": "sgd",
            keyword: [setting] if keyword == "groups" else setting,
        }
        if name in ("MSE", "MAE", "Huber", "BCEWithLogits"):
            options["target"] = "t"
        public_train.prepare(model(), **options)  # type: ignore[arg-type]

    return Call(use, arguments)


def through_rate(name: str, arguments: Mapping[str, object]) -> Call:
    def use(**values: object) -> None:
        public_train.prepare(model(), optimizer=public_train.SGD(rate=getattr(public_train, name)(**values)))

    return Call(use, arguments)


CALLS: dict[str, Callable[[], Call]] = {
    "add_adapters": lambda: Call(
        public_train.add_adapters,
        {"model": model(), "rank": 1, "alpha": 1.0, "targets": ["w"], "seed": 0},
    ),
    "add_fake_quantization": lambda: Call(public_train.add_fake_quantization, fake_options()),
    "fit": lambda: Call(public_train.fit, fit_options()),
    "fold_fake_quantization": lambda: Call(
        public_train.fold_fake_quantization,
        {"model": public_train.add_fake_quantization(**fake_options())},  # type: ignore[arg-type]
    ),
    "merge_adapters": lambda: Call(
        public_train.merge_adapters, {"model": public_train.add_adapters(model(), 1)}
    ),
    "prepare": lambda: Call(public_train.prepare, prepare_options()),
    "without_training": lambda: Call(public_train.without_training, {"model": public_train.prepare(model())}),
}
CALLS |= {n: lambda n=n, a=a: through_prepare(n, "loss", a) for n, a in LOSSES.items()}  # type: ignore[misc]
CALLS |= {n: lambda n=n, a=a: through_prepare(n, "optimizer", a) for n, a in OPTIMIZERS.items()}  # type: ignore[misc]
CALLS |= {n: lambda n=n, a=a: through_rate(n, a) for n, a in SCHEDULES.items()}  # type: ignore[misc]
CALLS |= {n: lambda n=n, k=k, a=a: through_prepare(n, k, a) for n, (k, a) in SETTINGS.items()}  # type: ignore[misc]


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_public_name_is_tried() -> None:
    assert set(CALLS) | BASES | (RECORDS & {*public_train.__all__}) == {*public_train.__all__}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_wrong_arguments_are_refused_by_name_in_training(name: str) -> None:
    for parameter in CALLS[name]().arguments:
        for kind, wrong in WRONG.items():
            if parameter in ("epochs", "rank") and kind in ("2**63", "2**70"):
                continue  # as many as the caller asks for
            if parameter == "report" and kind in ("function", "type"):
                continue  # what a function of the caller raises is not ours
            call = CALLS[name]()
            error = error_of(call.function, {**call.arguments, parameter: wrong()})
            if error is not None and not is_deliberate(error):
                text = "".join(traceback.format_exception(error))
                pytest.fail(f"{name}({parameter}={kind}): {text}", pytrace=False)
