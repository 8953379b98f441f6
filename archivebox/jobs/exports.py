"""Owns deleting what an export has written."""

from archivebox.jobs.job import Job


def forget_file(job: Job) -> bool:
    """Delete its file; False where there is none."""
    path = job.file
    if path is None:
        return False
    path.unlink(missing_ok=True)
    return True
