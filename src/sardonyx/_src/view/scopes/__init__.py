"""The hierarchy of a graph: scopes, so that each level of a picture has few boxes."""
