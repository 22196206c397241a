"""One round from files to raw tables to a published version."""
