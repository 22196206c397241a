"""System descriptions: every dialect read, spellings identified, totals counted."""
