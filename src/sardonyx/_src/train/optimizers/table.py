"""The optimizers by the names that `prepare` and the command line accept."""

from __future__ import annotations

from sardonyx._src.arguments import require_type
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
    require_type("optimizer", name, str, "an Optimizer or a name")
    if name not in OPTIMIZERS:
        raise InputError(
            f"there is no optimizer {name!r}{suggest(str(name), OPTIMIZERS, 'optimizers')}", name="optimizer"
        )
    return OPTIMIZERS[str(name)]


def optimizer_of(optimizer: Optimizer | str) -> Optimizer:
    """An optimizer, or the one of a name with its default parameters."""
    return optimizer if isinstance(optimizer, Optimizer) else optimizer_class(optimizer)()
