"""Machines, the processes that ran on them and the programs they have."""
