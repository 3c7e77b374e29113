"""Benchmarks: generated from a simulator and checked, or imported from published files."""
