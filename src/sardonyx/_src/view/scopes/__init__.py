"""The hierarchy of a graph: nested scopes, each drawn as one box until it is opened, so that each level has few boxes."""
