"""Specialisation: programs of a session that are compiled for the branches and ranks of its runs, or for what they feed.

A program with fallback operations of which inference cannot tell the rank records what its runs tell
(`compile.program.assumptions`).  The next run compiles a program for it, the second run is native; the conditions that it
assumes are guards, and so are the ranks.  A run tries the programs that exist, the one used last first, and then the general
one, whose observations lead to another program.

A program whose fallback operations read fed parameters, such as axes, is compiled for their elements in the first run that feeds
them; a model of which runs tell ranks has programs for ranks instead, which serve all elements.

Programs are few: engines of one model share them, the least recently used one is dropped, and a model whose assumptions keep
changing is compiled ever more rarely.  Those of a file are in the disk cache, so that a later process is native from its first
run on.
"""
