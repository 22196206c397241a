"""What is shown: the report, the validation and data quality pages, the metadata of an export."""
