"""erf, by a polynomial around zero, and one less the exponential of another beyond."""

from __future__ import annotations

from sardonyx.compile.math.exponential import power_of_two, reduced
from sardonyx.compile.math.function import function
from sardonyx.compile.text import Code, Value
