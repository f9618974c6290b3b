"""gitmem: shared memory and a work queue for coding agents, in a git repository."""

__version__ = "0.1.0"
