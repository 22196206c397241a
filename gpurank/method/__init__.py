"""The method, bare functions on arrays and frames: select, cluster, rank, scale, choose."""
