"""Where versions stand on disk or in object storage: versions, history, changes, locks."""
