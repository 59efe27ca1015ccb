"""Experiments: a grid of trainings from one command, a result each."""
