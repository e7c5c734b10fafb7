"""How often pages look at runs, which train in processes of their own, and the count of runs started."""

import time

from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.state.caches import watchers
from ui.state.event_log import event
from ui.state.worker_counters import counters


def pace() -> float:
    """Seconds between two polls: one, or more where many watch, so that all ask eight times a second together."""
    last_polls, now = watchers(), time.monotonic()
    if context := get_script_run_ctx():
        last_polls[context.session_id] = now
    for session in [session for session, at in list(last_polls.items()) if now - at > 30]:
        last_polls.pop(session, None)
    return max(1.0, len(last_polls) / 8)


def run_started(preset: str) -> None:
    """Count and log a run that a visitor has started."""
    counters().add("runs")
    event("run started", preset=preset)
