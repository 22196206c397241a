"""The report: one self-contained HTML file per benchmark and round, and an index.

``data`` asks the warehouse, ``words`` says it in sentences, ``charts`` draws, ``page`` and
``index`` put together, ``lint`` proves that each shown number carries its footnote. All pure;
tasks/outputs/report.py writes.
"""
