"""Measurements of the whole, as ratios within one run on the same files."""
