"""What is written for others: the report and the export."""
