"""Interfaces of other packages, for programs that were written for them.

`sardonyx.compat.onnxruntime` has the names of onnxruntime.  `install()` puts it in the place of that package.
"""

from sardonyx._src.compat.install import install as install

__all__ = ["install"]
