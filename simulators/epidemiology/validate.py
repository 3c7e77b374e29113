"""Errors against published records: ``python -m simulators.epidemiology.validate DIR``.

The study ``studies/epidemiology/validate.py`` says what DIR holds; it is in the repository alone.
"""

from __future__ import annotations

from simulators.study import run_study

if __name__ == "__main__":
    run_study("epidemiology.validate")
