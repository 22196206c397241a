"""Tools of the developers: benchmarks, fuzzing, supply chain, generated docs."""
