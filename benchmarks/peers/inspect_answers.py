"""Prints the ids of the samples that a log of Inspect AI holds an answer for. Run by Inspect's own environment."""

from __future__ import annotations

import sys

from inspect_ai.log import read_eval_log


def main() -> None:
    """Command line: the log file."""
    for sample in read_eval_log(sys.argv[1]).samples or []:
        if sample.error is None and sample.output.completion:
            print(sample.id)


if __name__ == "__main__":
    main()
