from sardonyx.check.api import Diagnostic as Diagnostic
from sardonyx.check.api import Report as Report
from sardonyx.check.checking import check as check
from sardonyx.dtypes import DataType as DataType
from sardonyx.errors import DecodeError as DecodeError
from sardonyx.errors import EvaluationError as EvaluationError
from sardonyx.errors import ExternalDataError as ExternalDataError
from sardonyx.errors import InferenceError as InferenceError
from sardonyx.errors import InputError as InputError
from sardonyx.errors import InvalidModel as InvalidModel
from sardonyx.errors import JsonError as JsonError
from sardonyx.errors import LimitError as LimitError
from sardonyx.errors import OutputError as OutputError
from sardonyx.errors import SardonyxError as SardonyxError
from sardonyx.errors import TextError as TextError
from sardonyx.errors import UnsupportedOperator as UnsupportedOperator
from sardonyx.infer.walk import infer as infer
from sardonyx.io.external import Policy as Policy
from sardonyx.io.load import load as load
from sardonyx.io.operator_sets import load_operator_set as load_operator_set
from sardonyx.io.publish import save_operator_set as save_operator_set
from sardonyx.io.save import save as save
from sardonyx.io.text import from_json as from_json
from sardonyx.io.text import from_text as from_text
from sardonyx.io.text import to_json as to_json
from sardonyx.io.text import to_text as to_text
from sardonyx.ir.build import Builder as Builder
from sardonyx.ir.graph import Model as Model
from sardonyx.ir.operator_set import OperatorSet as OperatorSet
from sardonyx.ir.tensors import SparseTensor as SparseTensor
from sardonyx.ir.tensors import Tensor as Tensor
from sardonyx.ops.api import RunLimits as RunLimits
from sardonyx.proto.wire import Limits as Limits
from sardonyx.runtime.session import Session as Session

__version__: str
__all__: list[str]
