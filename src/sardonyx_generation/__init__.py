"""GreedySearch, Sampling, BeamSearch and WhisperBeamSearch of com.microsoft: a plugin that is shipped with sardonyx.

It uses only the public interface (`sardonyx.plugins`), and is imported when a model first uses one of these operators.
"""

from sardonyx_generation import beam_search as beam_search
from sardonyx_generation import greedy_search as greedy_search
