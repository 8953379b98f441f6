"""Archived pages whose scripts run: each view on an origin of its own, answered from the recording alone."""
