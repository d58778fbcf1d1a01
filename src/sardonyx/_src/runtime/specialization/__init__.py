"""Specialization: programs of a session that are compiled for the branches, ranks or parameters of its runs.

The *general program* of a model has fallback operations where inference cannot know a rank, or which branch an If takes.
Its runs record these facts as *observations*.  The next run compiles a program that takes them as *assumptions*
(`compile.program.steps.assumptions`), so that kernels replace the fallback operations.  Guards check the assumptions in each run.
A run tries the specialized programs, the one used last first, and then the general program, whose observations lead to
another specialized program.

Some fallback operations read a fed *parameter*, such as axes.  For these, a program is compiled for the elements of the
parameter in the first run that feeds them.  A model with observations has no such programs: its programs for ranks serve all
elements.

There are few programs: engines of one model share them, the least recently used one is dropped, and a model with ever new
assumptions is compiled ever more rarely.  The programs of a file are in the disk cache, so that the first run of a later
process is native already.
"""
