"""Work in processes of its own, as pages watch it."""

import time

from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.state.caches import watchers
from ui.state.event_log import event
from ui.state.worker_counters import board


def pace() -> float:
    """Seconds between two looks: one, and more as more people watch, so that all together ask 25 times a second."""
    seen, now = watchers(), time.monotonic()
    seen[get_script_run_ctx().session_id] = now
    for session in [session for session, at in list(seen.items()) if now - at > 30]:
        seen.pop(session, None)
    return max(1.0, len(seen) / 25)


def run_started(preset: str) -> None:
    """Count a run that a visitor has started, and tell whoever watches the server."""
    board().add("runs")
    event("run started", preset=preset)
