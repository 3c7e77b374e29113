"""Errors against published records: ``python -m simulators.urban.validate DIR``.

The study ``studies/urban/validate.py`` says what DIR holds; it is in the repository alone.
"""

from __future__ import annotations

from simulators.study import run_study

if __name__ == "__main__":
    run_study("urban.validate")
