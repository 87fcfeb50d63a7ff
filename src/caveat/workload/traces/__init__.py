"""Traces: recorded traffic read, described, fitted, made into profiles, replayed and written."""
