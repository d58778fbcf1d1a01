"""The losses by the names that `prepare` and the command line accept."""

from __future__ import annotations

from sardonyx._src.arguments import require_type
from sardonyx._src.errors import InputError
from sardonyx._src.suggestions import suggest
from sardonyx._src.train.losses.base import Loss
from sardonyx._src.train.losses.bce import BCEWithLogits
from sardonyx._src.train.losses.cross_entropy import CrossEntropy
from sardonyx._src.train.losses.ctc import CTC
from sardonyx._src.train.losses.huber import Huber
from sardonyx._src.train.losses.mae import MAE
from sardonyx._src.train.losses.mse import MSE
from sardonyx._src.train.losses.nll import NLL

LOSSES: dict[str, type[Loss]] = {
    "cross_entropy": CrossEntropy,
    "nll": NLL,
    "mse": MSE,
    "mae": MAE,
    "huber": Huber,
    "bce": BCEWithLogits,
    "ctc": CTC,
}


def loss_of(loss: Loss | str) -> Loss:
    """A loss, or the one of a name with its default parameters; raises InputError for anything else."""
    if isinstance(loss, Loss):
        return loss
    require_type("loss", loss, str, "a Loss, a Model or a name")
    if loss not in LOSSES:
        raise InputError(f"there is no loss {loss!r}{suggest(loss, LOSSES, 'losses')}", name="loss")
    return LOSSES[loss]()
