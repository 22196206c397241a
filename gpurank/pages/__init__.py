"""What is shown: the report, the quality and validation pages, tables of the method."""
