"""Processes that read rounds and run the method."""
