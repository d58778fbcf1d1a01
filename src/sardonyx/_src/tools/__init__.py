"""Tools that transform or compare whole models; each works on a copy and leaves its argument unchanged."""
