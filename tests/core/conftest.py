from __future__ import annotations

from hypothesis import settings

# The same examples every time, and no clock: a busy machine is no fault of the code.
settings.register_profile("steady", derandomize=True, deadline=None, database=None)
settings.load_profile("steady")
