"""Files, git and the index: knows records, not use cases."""
