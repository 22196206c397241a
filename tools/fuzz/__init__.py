"""Fuzzing: targets, their corpus, and a runner that is guided by coverage."""
