"""The command line: parse options, start a flow or ask a question, print the answer."""
