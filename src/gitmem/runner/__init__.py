"""Time and processes: claim, run, deliver, watch."""
