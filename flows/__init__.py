"""The order of things: Prefect flows and the command line."""
