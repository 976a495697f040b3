"""
Drivers: each turns the bytes of one family of readers into observations. No baccarat here.

Import from this package only; the modules below it may change (`docs/python.md` has examples,
`docs/write-a-driver.md` explains the interface). Every name is loaded at its first use:
`import drivers` loads neither pyserial nor OpenCV.

- `Driver`: the base class of all drivers; `Decoder`, `Frame`, `FrameKind`, `LineSettings`,
  `Maturity`, `NoOptions`, `Transport`: its parts.
- `DeckProfile`, `load_deck_profile`, `table_hash`, `missing_cards`, `profile_differences`,
  `PART_SUFFIX`: tables of codes and cards.
- `create_driver`, `find_driver`, `driver_names`, `driver_version`, `replacement_of`: drivers by
  name; `make_driver`: a driver with checked options.
- `load_capture`, `read_capture`, `write_capture`, `write_hex`, `Capture`, `CaptureLine`, `Mark`,
  `CaptureWriter`: capture files; `observations_of`, `frames_of`: their decoding.
- `Anonymiser`, `blank`, `random_permutation`: captures with other cards.
- `open_transport`, `check_url`, `has_line_settings`, `LineError`, `EndOfCaptureError`: lines.
- `load_gpiod`, `gpio_errors`, `find_free_lines`, `check_gpiod`: lines of GPIO chips, for lamps.
- `Reader`, `ReaderEnvironment`, `Counts`: the thread that keeps a line open.
- `open_video`, `check_video`, `CaptureThread`, `VideoFrame`, `Image`: video for witnesses;
  `VideoRing`, `Picture`, `MAX_RING_BYTES`, `encode_picture`: its last seconds; `ClipWriter`,
  `Clip`, `clip_names`, `describe_clip`, `is_playable`, `find_unfinished`: clips.
- `Forward`, `ForwardTarget`: copies of a line for other programs.
- `redact_url`, `raised_at`: texts without passwords, and where a decoder raised.

Packages of their own, each with its interface: `angel_eye_ii` and `camera` (drivers),
`simulators` (shoes on a line, tables before a camera).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from drivers.camera.clip import (
        Clip,
        ClipWriter,
        clip_names,
        describe_clip,
        encode_picture,
        find_unfinished,
        is_playable,
    )
    from drivers.camera.image import Image, VideoFrame
    from drivers.camera.sources.address import check_video
    from drivers.camera.sources.capture import CaptureThread
    from drivers.camera.sources.open_source import open_video
    from drivers.camera.video_ring import MAX_RING_BYTES, Picture, VideoRing
    from drivers.capture import (
        CAPTURE_SUFFIX,
        CAPTURE_SUFFIXES,
        HEX_SUFFIX,
        TEXT_SUFFIXES,
        Anonymiser,
        Capture,
        CaptureLine,
        CaptureWriter,
        Mark,
        blank,
        frames_of,
        lines_of_frames,
        load_capture,
        observations_of,
        random_permutation,
        read_capture,
        write_capture,
        write_hex,
    )
    from drivers.deck_profile import (
        PART_SUFFIX,
        DeckProfile,
        load_deck_profile,
        missing_cards,
        profile_differences,
        table_hash,
    )
    from drivers.driver import (
        Decoder,
        Driver,
        Frame,
        FrameKind,
        LineSettings,
        Maturity,
        NoOptions,
        Transport,
    )
    from drivers.gpio_line import check_gpiod, find_free_lines, gpio_errors, load_gpiod
    from drivers.line_forward import Forward, ForwardTarget
    from drivers.reader_thread import Counts, Reader, ReaderEnvironment
    from drivers.registry import (
        create_driver,
        driver_names,
        driver_version,
        find_driver,
        make_driver,
        replacement_of,
    )
    from drivers.transport import (
        EndOfCaptureError,
        LineError,
        check_url,
        has_line_settings,
        open_transport,
        raised_at,
        redact_url,
    )

__all__ = [
    "CAPTURE_SUFFIX",
    "CAPTURE_SUFFIXES",
    "HEX_SUFFIX",
    "MAX_RING_BYTES",
    "PART_SUFFIX",
    "TEXT_SUFFIXES",
    "Anonymiser",
    "Capture",
    "CaptureLine",
    "CaptureThread",
    "CaptureWriter",
    "Clip",
    "ClipWriter",
    "Counts",
    "DeckProfile",
    "Decoder",
    "Driver",
    "EndOfCaptureError",
    "Forward",
    "ForwardTarget",
    "Frame",
    "FrameKind",
    "Image",
    "LineError",
    "LineSettings",
    "Mark",
    "Maturity",
    "NoOptions",
    "Picture",
    "Reader",
    "ReaderEnvironment",
    "Transport",
    "VideoFrame",
    "VideoRing",
    "blank",
    "check_gpiod",
    "check_url",
    "check_video",
    "clip_names",
    "create_driver",
    "describe_clip",
    "driver_names",
    "driver_version",
    "encode_picture",
    "find_driver",
    "find_free_lines",
    "find_unfinished",
    "frames_of",
    "gpio_errors",
    "has_line_settings",
    "is_playable",
    "lines_of_frames",
    "load_capture",
    "load_deck_profile",
    "load_gpiod",
    "make_driver",
    "missing_cards",
    "observations_of",
    "open_transport",
    "open_video",
    "profile_differences",
    "raised_at",
    "random_permutation",
    "read_capture",
    "redact_url",
    "replacement_of",
    "table_hash",
    "write_capture",
    "write_hex",
]

_NAMES_BY_MODULE: Final = {
    "camera.clip": """
        Clip ClipWriter clip_names encode_picture find_unfinished is_playable describe_clip
    """,
    "camera.image": "Image VideoFrame",
    "camera.sources.capture": "CaptureThread",
    "camera.sources.open_source": "open_video",
    "camera.sources.address": "check_video",
    "camera.video_ring": "MAX_RING_BYTES Picture VideoRing",
    "capture": """
        CAPTURE_SUFFIX CAPTURE_SUFFIXES HEX_SUFFIX TEXT_SUFFIXES Anonymiser Capture CaptureLine
        CaptureWriter Mark blank frames_of lines_of_frames load_capture observations_of
        random_permutation read_capture write_capture write_hex
    """,
    "deck_profile": """
        PART_SUFFIX DeckProfile load_deck_profile missing_cards profile_differences table_hash
    """,
    "driver": """
        Decoder Driver Frame FrameKind LineSettings Maturity NoOptions Transport
    """,
    "registry": """
        create_driver driver_names driver_version find_driver make_driver replacement_of
    """,
    "gpio_line": "check_gpiod find_free_lines gpio_errors load_gpiod",
    "line_forward": "Forward ForwardTarget",
    "reader_thread": "Counts Reader ReaderEnvironment",
    "transport": """
        EndOfCaptureError LineError check_url has_line_settings open_transport raised_at redact_url
    """,
}
_MODULE_OF: Final = {
    name: module for module, names in _NAMES_BY_MODULE.items() for name in names.split()
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        module = _MODULE_OF.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{module}"), name)
        globals()[name] = value
        return value
