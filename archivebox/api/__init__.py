"""The REST API: what people do on pages, for programs."""
