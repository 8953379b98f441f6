"""The addresses of the API, a file for each kind of row."""
