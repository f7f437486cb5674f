"""Tables, figures and the text of the report, from files on disk alone."""

from bench.report.summary import summary_table
from bench.report.write import ReportPaths, write_report

__all__ = ["ReportPaths", "summary_table", "write_report"]
