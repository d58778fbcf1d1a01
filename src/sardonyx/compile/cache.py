from sardonyx.compile.llvm.cache import Cache as Cache
