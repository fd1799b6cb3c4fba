"""Experiments: runs of tasks, methods and seeds, their records, and tables and figures of these."""
