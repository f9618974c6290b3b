"""Measurements, each beside a floor or a peer taken in the same run (see README.md)."""
