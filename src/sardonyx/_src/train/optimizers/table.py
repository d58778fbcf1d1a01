"""The optimizers by the names that `prepare` and the command line take."""

from __future__ import annotations

from sardonyx._src.errors import InputError
from sardonyx._src.suggestions import suggest
from sardonyx._src.train.optimizers.adagrad import Adagrad
from sardonyx._src.train.optimizers.adam import Adam
from sardonyx._src.train.optimizers.adamw import AdamW
from sardonyx._src.train.optimizers.base import Optimizer
from sardonyx._src.train.optimizers.lion import Lion
from sardonyx._src.train.optimizers.momentum import Momentum, Nesterov
from sardonyx._src.train.optimizers.rmsprop import RMSProp
from sardonyx._src.train.optimizers.sgd import SGD

OPTIMIZERS: dict[str, type[Optimizer]] = {
    "sgd": SGD,
    "momentum": Momentum,
    "nesterov": Nesterov,
    "adam": Adam,
    "adamw": AdamW,
    "adagrad": Adagrad,
    "rmsprop": RMSProp,
    "lion": Lion,
}


def optimizer_class(name: object) -> type[Optimizer]:
    """The optimizer of a name; raises InputError for another one."""
    if not isinstance(name, str) or name not in OPTIMIZERS:
        hint = suggest(name, OPTIMIZERS, "optimizers") if isinstance(name, str) else ""
        raise InputError(f"optimizer must be an Optimizer or a name; got {name!r}{hint}", name="optimizer")
    return OPTIMIZERS[name]


def optimizer_of(optimizer: Optimizer | str) -> Optimizer:
    """An optimizer, or the one of a name with its default parameters."""
    return optimizer if isinstance(optimizer, Optimizer) else optimizer_class(optimizer)()
