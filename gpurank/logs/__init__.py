"""A round's files into raw tables: layout, dialects, records, runs, folders."""
