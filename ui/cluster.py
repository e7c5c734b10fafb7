"""The cluster that the app may give runs to."""

from transformer.training import jobs


def cluster_offered() -> str | None:
    """Its address, where one is named together with its token; None otherwise."""
    try:
        cluster = jobs.configured()
    except ValueError:
        return None
    return cluster.address if cluster else None
