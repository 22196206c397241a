"""Whether the installation is well: what to watch, how fresh, how healthy."""
