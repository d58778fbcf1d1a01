"""What the command line does, from Python: every function takes a path, bytes or a Model, and returns its result.

docs/tools.md has the Python and the command line spelling of each side by side.  `sardonyx.check`, `convert`, `infer` and
`optimize` are functions of the package itself.
"""

from sardonyx._src.convert.partial_conversion import PartialConversion as PartialConversion
from sardonyx._src.convert.partial_conversion import convert_partially as convert_partially
from sardonyx._src.export.functions import compile_library as compile_library
from sardonyx._src.export.library import CompiledLibrary as CompiledLibrary
from sardonyx._src.infer.walk import PartialInference as PartialInference
from sardonyx._src.infer.walk import infer_partially as infer_partially
from sardonyx._src.measure.certificates.certificate import Certificate as Certificate
from sardonyx._src.measure.certificates.certify import certify as certify
from sardonyx._src.measure.certificates.verify import RunVerification as RunVerification
from sardonyx._src.measure.certificates.verify import verify as verify
from sardonyx._src.measure.compare.models import ModelComparison as ModelComparison
from sardonyx._src.measure.compare.models import compare as compare
from sardonyx._src.measure.costs import NodeCost as NodeCost
from sardonyx._src.measure.costs import node_costs as node_costs
from sardonyx._src.measure.functions import bench as bench
from sardonyx._src.measure.functions import compile as compile
from sardonyx._src.measure.machine.report import MachineReport as MachineReport
from sardonyx._src.measure.machine.report import doctor as doctor
from sardonyx._src.measure.profiling import Profile as Profile
from sardonyx._src.measure.profiling import profile as profile
from sardonyx._src.measure.timing import EngineTiming as EngineTiming
from sardonyx._src.measure.warming import WarmedModel as WarmedModel
from sardonyx._src.measure.warming import warm as warm
from sardonyx._src.rewrite.optimize import optimize_with_report as optimize_with_report
from sardonyx._src.rewrite.report import Optimization as Optimization
from sardonyx._src.runtime.identity.value_digest import digest_values as digest
from sardonyx._src.runtime.verification.values import ValueComparison as ValueComparison
from sardonyx._src.tools.diff import Difference as Difference
from sardonyx._src.tools.functions import diff as diff
from sardonyx._src.tools.functions import externalise as externalise
from sardonyx._src.tools.functions import extract as extract
from sardonyx._src.tools.functions import inline as inline
from sardonyx._src.tools.functions import internalise as internalise
from sardonyx._src.tools.functions import merge as merge
from sardonyx._src.tools.functions import rename as rename
from sardonyx._src.tools.functions import set_dims as set_dims

externalize, internalize = externalise, internalise

__all__ = [
    "Certificate",
    "CompiledLibrary",
    "Difference",
    "EngineTiming",
    "MachineReport",
    "ModelComparison",
    "NodeCost",
    "Optimization",
    "PartialConversion",
    "PartialInference",
    "Profile",
    "RunVerification",
    "ValueComparison",
    "WarmedModel",
    "bench",
    "certify",
    "compare",
    "compile",
    "compile_library",
    "convert_partially",
    "diff",
    "digest",
    "doctor",
    "externalise",
    "externalize",
    "extract",
    "infer_partially",
    "inline",
    "internalise",
    "internalize",
    "merge",
    "node_costs",
    "optimize_with_report",
    "profile",
    "rename",
    "set_dims",
    "verify",
    "warm",
]
