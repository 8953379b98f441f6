"""Imports the models of jobs, so that Django finds them."""

from archivebox.jobs.job import Job, JobFailure, JobPart

__all__ = ["Job", "JobFailure", "JobPart"]
