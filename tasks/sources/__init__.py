"""The bytes of a round: archives, checkouts and Git repositories, verified."""
