"""Reads the files of a round from archives, checkouts and Git repositories, and verifies them."""
