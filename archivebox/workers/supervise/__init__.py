"""What keeps workers at work: the orchestrator, whoever watches, supervisord, recovery after a crash."""
