"""The web server's process: its listeners, its limits, and what each request passes before Django has it."""
