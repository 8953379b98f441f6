"""What runs: the orchestrator, its workers and the runs they carry."""
