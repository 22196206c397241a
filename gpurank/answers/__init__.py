"""Questions asked of a warehouse: read, explain, compare, choose, place own runs."""
