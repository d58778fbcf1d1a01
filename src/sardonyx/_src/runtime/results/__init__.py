"""Results of runs: arrays of the caller for outputs, and checks of results against the model's declarations."""
