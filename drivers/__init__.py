"""
Drivers: each turns the bytes of one family of readers into observations. No baccarat here.

Import from this package only; the modules below it may change (`docs/python.md` has examples,
`docs/write-a-driver.md` explains the interface). Every name is loaded at its first use:
`import drivers` loads neither pyserial nor OpenCV.

- `Driver`, `Decoder`, `Frame`, `FrameKind`, `LineSettings`: the interface of a driver.
- `Transport`, `OpensLine`, `NamesFiles`, `StoresEvidence`: the interface of a driver that
  opens its own kind of line.
- `create_driver`, `find_driver`, `driver_names`, `driver_version`: drivers by name;
  `make_driver`: a driver with checked options.
- `read_capture`, `write_hex`, `HEX_SUFFIX`: capture files; `observations_of`, `frames_of`:
  their decoding.
- `open_transport`, `check_url`, `LineError`, `EndOfCaptureError`: lines.
- `Reader`, `ReaderEnvironment`: the thread that keeps a line open.
- `redact_url`, `raised_at`: texts without passwords, and where a decoder raised.

Packages of their own, each with its interface: `angel_eye_ii` and `camera` (drivers),
`simulators` (shoes on a line, tables before a camera).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from drivers.capture_file import HEX_SUFFIX, read_capture, write_hex
    from drivers.capture_replay import frames_of, observations_of
    from drivers.decoder_error_origin import raised_at
    from drivers.driver_interface import (
        Decoder,
        Driver,
        Frame,
        FrameKind,
        LineSettings,
        NamesFiles,
        OpensLine,
        StoresEvidence,
        Transport,
    )
    from drivers.interface_check import make_driver
    from drivers.reader_thread import Reader, ReaderEnvironment
    from drivers.redact import redact_url
    from drivers.registry import create_driver, driver_names, driver_version, find_driver
    from drivers.transport import EndOfCaptureError, LineError, check_url, open_transport

__all__ = [
    "HEX_SUFFIX",
    "Decoder",
    "Driver",
    "EndOfCaptureError",
    "Frame",
    "FrameKind",
    "LineError",
    "LineSettings",
    "NamesFiles",
    "OpensLine",
    "Reader",
    "ReaderEnvironment",
    "StoresEvidence",
    "Transport",
    "check_url",
    "create_driver",
    "driver_names",
    "driver_version",
    "find_driver",
    "frames_of",
    "make_driver",
    "observations_of",
    "open_transport",
    "raised_at",
    "read_capture",
    "redact_url",
    "write_hex",
]

_MODULE_OF: Final = {
    "HEX_SUFFIX": "capture_file",
    "read_capture": "capture_file",
    "write_hex": "capture_file",
    "frames_of": "capture_replay",
    "observations_of": "capture_replay",
    "raised_at": "decoder_error_origin",
    "Decoder": "driver_interface",
    "Driver": "driver_interface",
    "Frame": "driver_interface",
    "FrameKind": "driver_interface",
    "StoresEvidence": "driver_interface",
    "LineSettings": "driver_interface",
    "NamesFiles": "driver_interface",
    "OpensLine": "driver_interface",
    "Transport": "driver_interface",
    "make_driver": "interface_check",
    "Reader": "reader_thread",
    "ReaderEnvironment": "reader_thread",
    "redact_url": "redact",
    "create_driver": "registry",
    "driver_names": "registry",
    "driver_version": "registry",
    "find_driver": "registry",
    "EndOfCaptureError": "transport",
    "LineError": "transport",
    "check_url": "transport",
    "open_transport": "transport",
}
"""Where each name is."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        module = _MODULE_OF.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{module}"), name)
        globals()[name] = value
        return value
