"""Outlines of graphs as text for other programs: Mermaid and DOT."""
