"""
Types answers at a terminal: runs a program on a pty, waits for each question, and answers it.

Run in the guest: a JSON object comes in, and what the terminal showed goes out.
"""

import json
import os
import pty
import select
import sys
import time


def main() -> None:
    """Run the program of the request."""
    request = json.load(sys.stdin)
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(request["program"][0], request["program"])  # noqa: S606 - no shell
    shown = b""
    for question, answer in request["answers"]:
        shown += _read_until(terminal, question.encode(), request["timeout_s"])
        time.sleep(0.5)
        os.write(terminal, answer.encode() + b"\r")
    shown += _read_until(terminal, b"", request["timeout_s"])
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    json.dump({"status": status, "shown": shown.decode(errors="replace")}, sys.stdout)


def _read_until(terminal: int, question: bytes, timeout_s: float) -> bytes:
    """Return what the terminal shows until a question, or until the end without one."""
    shown = b""
    deadline = time.monotonic() + timeout_s
    while not question or question not in shown:
        if not select.select([terminal], [], [], deadline - time.monotonic())[0]:
            raise SystemExit(f"{question!r} was not asked; shown:\n{shown.decode()}")
        try:
            data = os.read(terminal, 4096)
        except OSError:  # the end
            data = b""
        if not data:
            if question:
                raise SystemExit(f"the end before {question!r}; shown:\n{shown.decode()}")
            return shown
        shown += data
    return shown


if __name__ == "__main__":
    main()
