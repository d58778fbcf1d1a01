from sardonyx.compile.llvm.jit import host as host
from sardonyx.compile.llvm.jit import machine as machine
from sardonyx.compile.llvm.target import Target as Target
