"""Training: models with training information made from inference models, and runs that train them.

`prepare` adds a training step to a model, `fit` runs it on data.  The steps themselves are executed by
`sardonyx.TrainingSession`.
"""

from sardonyx._src.quantize.training.fake_quantization import add_fake_quantization as add_fake_quantization
from sardonyx._src.quantize.training.folding import fold_fake_quantization as fold_fake_quantization
from sardonyx._src.train.adapters import add_adapters as add_adapters
from sardonyx._src.train.adapters import merge_adapters as merge_adapters
from sardonyx._src.train.fit.fit import fit as fit
from sardonyx._src.train.fit.progress import EpochRecord as EpochRecord
from sardonyx._src.train.fit.results import FitResult as FitResult
from sardonyx._src.train.fit.results import TrainingStatus as TrainingStatus
from sardonyx._src.train.losses.base import Loss as Loss
from sardonyx._src.train.losses.bce import BCEWithLogits as BCEWithLogits
from sardonyx._src.train.losses.cross_entropy import CrossEntropy as CrossEntropy
from sardonyx._src.train.losses.ctc import CTC as CTC
from sardonyx._src.train.losses.huber import Huber as Huber
from sardonyx._src.train.losses.mae import MAE as MAE
from sardonyx._src.train.losses.mse import MSE as MSE
from sardonyx._src.train.losses.nll import NLL as NLL
from sardonyx._src.train.optimizers.adagrad import Adagrad as Adagrad
from sardonyx._src.train.optimizers.adam import Adam as Adam
from sardonyx._src.train.optimizers.adamw import AdamW as AdamW
from sardonyx._src.train.optimizers.base import Optimizer as Optimizer
from sardonyx._src.train.optimizers.lion import Lion as Lion
from sardonyx._src.train.optimizers.momentum import Momentum as Momentum
from sardonyx._src.train.optimizers.momentum import Nesterov as Nesterov
from sardonyx._src.train.optimizers.rmsprop import RMSProp as RMSProp
from sardonyx._src.train.optimizers.schedules import ConstantSchedule as ConstantSchedule
from sardonyx._src.train.optimizers.schedules import CosineSchedule as CosineSchedule
from sardonyx._src.train.optimizers.schedules import Schedule as Schedule
from sardonyx._src.train.optimizers.schedules import StepSchedule as StepSchedule
from sardonyx._src.train.optimizers.schedules import WarmUp as WarmUp
from sardonyx._src.train.optimizers.sgd import SGD as SGD
from sardonyx._src.train.prepare.gradients import LossScale as LossScale
from sardonyx._src.train.prepare.inference_only import without_training as without_training
from sardonyx._src.train.prepare.prepare import prepare as prepare
from sardonyx._src.train.prepare.selection import ParameterGroup as ParameterGroup

__all__ = [
    "CTC",
    "MAE",
    "MSE",
    "NLL",
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "BCEWithLogits",
    "ConstantSchedule",
    "CosineSchedule",
    "CrossEntropy",
    "EpochRecord",
    "FitResult",
    "Huber",
    "Lion",
    "Loss",
    "LossScale",
    "Momentum",
    "Nesterov",
    "Optimizer",
    "ParameterGroup",
    "RMSProp",
    "Schedule",
    "StepSchedule",
    "TrainingStatus",
    "WarmUp",
    "add_adapters",
    "add_fake_quantization",
    "fit",
    "fold_fake_quantization",
    "merge_adapters",
    "prepare",
    "without_training",
]
