"""The errors that Sardonyx raises for a user's mistake, with `SardonyxError` as their root; and two warnings."""

from sardonyx._src.errors import CancelledError as CancelledError
from sardonyx._src.errors import CertificateError as CertificateError
from sardonyx._src.errors import CompilationError as CompilationError
from sardonyx._src.errors import CompilerWarning as CompilerWarning
from sardonyx._src.errors import ConversionError as ConversionError
from sardonyx._src.errors import DecodeError as DecodeError
from sardonyx._src.errors import DifferentiationError as DifferentiationError
from sardonyx._src.errors import EvaluationError as EvaluationError
from sardonyx._src.errors import ExternalDataError as ExternalDataError
from sardonyx._src.errors import FileChanged as FileChanged
from sardonyx._src.errors import InferenceError as InferenceError
from sardonyx._src.errors import InputError as InputError
from sardonyx._src.errors import InvalidModel as InvalidModel
from sardonyx._src.errors import JsonError as JsonError
from sardonyx._src.errors import LimitError as LimitError
from sardonyx._src.errors import Located as Located
from sardonyx._src.errors import MissingPackage as MissingPackage
from sardonyx._src.errors import OptimizationError as OptimizationError
from sardonyx._src.errors import OutputError as OutputError
from sardonyx._src.errors import SardonyxError as SardonyxError
from sardonyx._src.errors import ShapeWarning as ShapeWarning
from sardonyx._src.errors import TextError as TextError
from sardonyx._src.errors import TrainingDiverged as TrainingDiverged
from sardonyx._src.errors import UnsupportedOperator as UnsupportedOperator
from sardonyx._src.errors import UnsupportedProcessor as UnsupportedProcessor
from sardonyx._src.errors import VerificationError as VerificationError

__all__ = [
    "CancelledError",
    "CertificateError",
    "CompilationError",
    "CompilerWarning",
    "ConversionError",
    "DecodeError",
    "DifferentiationError",
    "EvaluationError",
    "ExternalDataError",
    "FileChanged",
    "InferenceError",
    "InputError",
    "InvalidModel",
    "JsonError",
    "LimitError",
    "Located",
    "MissingPackage",
    "OptimizationError",
    "OutputError",
    "SardonyxError",
    "ShapeWarning",
    "TextError",
    "TrainingDiverged",
    "UnsupportedOperator",
    "UnsupportedProcessor",
    "VerificationError",
]
