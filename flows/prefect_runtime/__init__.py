"""Where flows run: a temporary Prefect server, its environment, task runners."""
