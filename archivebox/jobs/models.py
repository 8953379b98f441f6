"""Shop window of the models of jobs."""

from archivebox.jobs.job import Job, JobFailure, JobPart

__all__ = ["Job", "JobFailure", "JobPart"]
