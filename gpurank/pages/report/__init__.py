"""The report: one self-contained HTML file per benchmark and round, and an index.

``data`` reads the warehouse, ``words`` says findings in sentences, ``charts`` draws, ``sections``
builds tables, ``benchmark_page`` and ``index`` fill the templates. tasks/outputs/report.py writes
the files.
"""

GENERATOR = "gpurank report"
"""The generator that the report's pages name: a new report deletes old pages that name it."""
