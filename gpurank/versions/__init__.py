"""Where versions stand on disk or in object storage: store, lock, history, changes."""
