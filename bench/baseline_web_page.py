"""
Baseline of the display benchmark: forwards one topic to a page that shows the message number.

`python -m bench.baseline_web_page BROKER_PORT TOPIC PORT`
"""

from __future__ import annotations

import queue
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

_PAGE: Final = b"""<!doctype html><meta charset="utf-8"><title>bare</title><body><script>
new EventSource("/live").onmessage = function (message) {
  var seq = JSON.parse(message.data).seq;
  document.body.textContent = seq;
  document.body.setAttribute("data-seq", seq);
};
</script>"""

_heard: queue.SimpleQueue[bytes] = queue.SimpleQueue()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Serve the page or the endless stream."""
        stream = self.path == "/live"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if stream else "text/html")
        self.end_headers()
        if not stream:
            self.wfile.write(_PAGE)
            return
        while True:
            self.wfile.write(b"data: %s\n\n" % _heard.get())

    def log_message(self, *_: object) -> None:
        """Suppress the access log."""


def main(broker: str, topic: str, port: str) -> None:
    """Forward until killed."""
    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.on_message = lambda _client, _data, message: _heard.put(bytes(message.payload))
    client.connect("127.0.0.1", int(broker))
    client.subscribe(topic, qos=1)
    client.loop_start()
    ThreadingHTTPServer(("127.0.0.1", int(port)), _Handler).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
