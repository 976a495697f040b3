"""
Runs commands in the guest: a JSON object a line comes in over a virtio port, and one goes out.

Copied into the image, where only Debian's Python is installed.
"""

import json
import os
import subprocess
import time
from pathlib import Path

PORT = Path("/dev/virtio-ports/agent")


def main() -> None:
    """Answer every line, for ever."""
    port = os.open(PORT, os.O_RDWR)
    _send(port, {"ready": True})
    pending = b""
    while True:
        data = os.read(port, 65536)
        if not data:  # nobody is connected
            time.sleep(0.1)
            continue
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            if line.strip():
                _send(port, _answer(json.loads(line)))


def _answer(request: dict) -> dict:  # type: ignore[type-arg]
    try:
        done = subprocess.run(
            ["bash", "-c", request["command"]],
            input=request.get("input", ""),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=request["timeout_s"],
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"status": 124, "output": "", "errors": "timed out"}
    return {"status": done.returncode, "output": done.stdout, "errors": done.stderr}


def _send(port: int, message: dict) -> None:  # type: ignore[type-arg]
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(port, data) :]


if __name__ == "__main__":
    main()
