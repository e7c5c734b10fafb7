"""The cluster that the app may give runs to."""

from transformer.jobs import ray_jobs


def cluster_offered() -> str | None:
    """Its address, where one is named together with its token; None otherwise."""
    try:
        cluster = ray_jobs.configured()
    except ValueError:
        return None
    return cluster.address if cluster else None
