"""What the program costs, measured against the floor beneath it; never part of the tests."""
