"""Regions, the matchers that recognize them, and the queries of matchers."""
