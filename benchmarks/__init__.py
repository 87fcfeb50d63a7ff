"""Benchmarks: how long things take, printed side by side. Not tests: no clock fails a build."""
