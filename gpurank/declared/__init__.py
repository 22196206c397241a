"""What people declared: rounds and rules, contracts of tables, SQL models, checks."""
