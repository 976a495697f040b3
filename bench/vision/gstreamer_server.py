"""
An H.264 RTSP camera by GStreamer's server; each picture contains its time, as in
`bench.vision.stream_cameras`.

Runs in the system's Python, which has GStreamer's bindings, without modules of this project:

    /usr/bin/python3 bench/vision/gstreamer_server.py PORT WIDTH HEIGHT FPS BITS SQUARE

PORT 0 chooses a free port. The port is printed when the camera is ready.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402 - their versions come first

Gst.init(None)

PORT, WIDTH, HEIGHT, FPS, BITS, SQUARE = map(int, sys.argv[1:])
FORM = f"video/x-raw,format=I420,width={WIDTH},height={HEIGHT},framerate={FPS}/1"
ENCODER = "x264enc tune=zerolatency speed-preset=superfast bitrate=4000 key-int-max=50 threads=1"
LAUNCH = (
    f"( appsrc name=eye is-live=true do-timestamp=true format=time caps={FORM}"
    f" ! queue leaky=downstream max-size-buffers=1 ! {ENCODER}"
    " ! rtph264pay name=pay0 pt=96 config-interval=1 )"
)
WHITE, BLACK = b"\xeb", b"\x10"
REST = bytes(range(60, 140)) * (WIDTH * (HEIGHT - SQUARE) // 80)
COLOUR = bytes([128]) * (WIDTH * HEIGHT // 2)


def picture() -> Any:  # noqa: ANN401 - GStreamer's buffer
    """Draw the moment: its lowest bit is the square on the left."""
    now = int(time.monotonic() * 1000)
    row = b"".join((WHITE if now >> bit & 1 else BLACK) * SQUARE for bit in range(BITS))
    return Gst.Buffer.new_wrapped(row * SQUARE + REST + COLOUR)


class Factory(GstRtspServer.RTSPMediaFactory):  # type: ignore[misc] # it comes without types
    def do_create_element(self, _: Any) -> Any:  # noqa: ANN401 - GStreamer calls it
        return Gst.parse_launch(LAUNCH)

    def do_configure(self, media: Any) -> None:  # noqa: ANN401 - as above
        eye = media.get_element().get_child_by_name("eye")
        threading.Thread(target=feed, args=(eye,), daemon=True).start()


def feed(eye: Any) -> None:  # noqa: ANN401 - GStreamer's source
    due = time.monotonic()
    while eye.emit("push-buffer", picture()) == Gst.FlowReturn.OK:
        due += 1 / FPS
        time.sleep(max(0, due - time.monotonic()))


def main() -> None:
    server, factory = GstRtspServer.RTSPServer(), Factory()
    server.set_address("127.0.0.1")
    server.set_service(str(PORT))
    factory.set_shared(True)
    server.get_mount_points().add_factory("/table", factory)
    server.attach(None)
    print(server.get_bound_port(), flush=True)
    GLib.MainLoop().run()


if __name__ == "__main__":
    main()
