"""Bulk translation: large files in shards, each whole or not there, by one process or by many on many machines."""
