"""Select, cluster and rank accelerator configurations for deep-learning training."""
