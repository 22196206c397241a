"""The pipelines as Prefect flows: what happens when, one page per pipeline."""
