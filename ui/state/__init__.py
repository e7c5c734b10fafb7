"""What the processes and visitors of a server share: caches, the queue of heavy work, counters, the event log."""
