"""Prefect flows: the pipelines, stage by stage."""
