from sardonyx.compile.llvm.jit import Library as Library
from sardonyx.compile.llvm.jit import compiled as compiled
from sardonyx.compile.llvm.jit import load as load
