"""Figures for Prometheus, from a process of their own at an address of this computer alone."""

import re
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from ui.server import health
from ui.state.worker_counters import WITHIN, counters

HERE = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")  # what a request on this computer says in Host
GAUGES = {"visitors": "open pages", "ready": "whether the worker serves", "working": "pieces of heavy work under way",
          "waiting": "pieces of heavy work that wait for their turn"}
COUNTERS = {"visits": "pages opened", "runs": "runs started", "refused_uploads": "uploads refused",
            "deaths": "workers that died"}


class Figures(Collector):
    """The worker counters, read anew each time."""

    def collect(self) -> Iterable[Metric]:
        here = counters()
        for name, description in GAUGES.items():
            gauge = GaugeMetricFamily(f"headsup_{name}", description, labels=["worker"])
            for worker, value in enumerate(here.each(name)):
                gauge.add_metric([str(worker)], value)
            yield gauge
        for name, description in COUNTERS.items():
            counter = CounterMetricFamily(f"headsup_{name}", description, labels=["worker"])
            for worker, value in enumerate(here.each(name)):
                counter.add_metric([str(worker)], value)
            yield counter
        held = GaugeMetricFamily("headsup_upload_bytes", "files held in memory", labels=["worker"])
        for worker, value in enumerate(here.each("held")):
            held.add_metric([str(worker)], value)
        yield held
        yield GaugeMetricFamily("headsup_rooms", "rooms", value=health.rooms())
        yield GaugeMetricFamily("headsup_memory_bytes", "of all processes, what several share counted once",
                                value=health.memory() * 1024)
        yield self._took()

    def _took(self) -> Metric:
        """The times that answers took, as a histogram."""
        here = counters()
        family = HistogramMetricFamily("headsup_answer_seconds", "one run of the script of a page, or of a part of it",
                                      labels=["worker"])
        for worker in range(here.workers):
            buckets = [(str(limit / 1000), here.get(f"within_{limit}", worker)) for limit in WITHIN]
            family.add_metric([str(worker)], [*buckets, ("+Inf", here.get("answers", worker))],
                             here.get("milliseconds", worker) / 1000)
        return family


class _Threads(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    timeout = 20  # seconds for a whole request

    def log_message(self, format: str, *_: object) -> None:
        pass


def here_alone(app: Callable) -> Callable:
    """The same for whoever asks by a name of this computer: a page elsewhere, whose name leads here, has another."""
    def answer(environ: dict, start_response: Callable) -> Iterable[bytes]:
        if HERE.fullmatch(environ.get("HTTP_HOST", "")):
            return app(environ, start_response)
        start_response("403 Forbidden", [("Content-Type", "text/plain")])
        return [b"Ask by the name of this computer.\n"]

    return answer


def serve(port: int) -> None:
    """Until a signal ends this process."""
    registry = CollectorRegistry()
    registry.register(Figures())
    make_server("127.0.0.1", port, here_alone(make_wsgi_app(registry)), _Threads, _Quiet).serve_forever()
