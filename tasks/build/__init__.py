"""Building a warehouse: load, identify, SQL layers, history, publish."""
