"""The hooks of one leased object, step by step."""
