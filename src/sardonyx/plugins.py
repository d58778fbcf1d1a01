"""What plugins define: operators, rewriting passes and rules of the checker, from outside of this package.

docs/extending.md has examples.  A package makes its plugin known by an entry point of the group `sardonyx.plugins`, named for the
domain of its operators; the command line imports modules by `--plugin`.
"""

from sardonyx._src.build.own_operators import operator as operator
from sardonyx._src.check.driver.own_rules import rule as rule
from sardonyx._src.compile.kernels.kernel_writer import KernelTensor as KernelTensor
from sardonyx._src.compile.kernels.kernel_writer import KernelWriter as KernelWriter
from sardonyx._src.compile.kernels.kernel_writer import Variable as Variable
from sardonyx._src.ir.dims import Dim as Dim
from sardonyx._src.ops.api import RunContext as RunContext
from sardonyx._src.ops.api import check_result_bytes as check_result_bytes
from sardonyx._src.ops.control.bodies import bind_body as bind_body
from sardonyx._src.ops.inference import Inference as Inference
from sardonyx._src.ops.installed_plugins import load_installed as load_installed
from sardonyx._src.rewrite.engine.match import Match as Match
from sardonyx._src.rewrite.graph_passes import GraphEdit as GraphEdit
from sardonyx._src.rewrite.graph_passes import graph_pass as graph_pass
from sardonyx._src.rewrite.own_passes import pattern as pattern

__all__ = [
    "Dim",
    "GraphEdit",
    "Inference",
    "KernelTensor",
    "KernelWriter",
    "Match",
    "RunContext",
    "Variable",
    "bind_body",
    "check_result_bytes",
    "graph_pass",
    "load_installed",
    "operator",
    "pattern",
    "rule",
]
