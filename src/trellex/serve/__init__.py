"""A translation server with the API of LibreTranslate. Its modules need the extra `serve`, but for the settings."""
