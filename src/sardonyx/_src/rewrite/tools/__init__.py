"""Tools on whole models: each works on a copy, and leaves the model that it is given as it was."""
