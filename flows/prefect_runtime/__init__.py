"""What Prefect needs around a flow: its environment, a temporary server, task runners."""
