"""The method on the warehouse, one job per benchmark."""
