"""The state of the installation: what to watch for, how fresh the data are, their health."""
