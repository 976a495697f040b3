"""Practice calibrations on a simulated table: a video with its script, or live commands."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Final, NamedTuple

import cv2
import numpy as np

from calibration.camera.output import check_writable, write_together
from calibration.camera.plane import rectangle_corners
from calibration.camera.simulated_table import MARKER_SHEETS, SimulatedTable, marker_corners
from calibration.terminal import Terminal
from drivers.simulators.camera.files import check_whole
from drivers.simulators.camera.live import open_sender
from drivers.simulators.camera.settings import Station
from drivers.simulators.camera.table_layout import CARD
from shoe_daemon.errors import UserError
from shoe_daemon.game import DEALING_ORDER, DECK, RANKS

_SCENE_FRAMES: Final = 8
_EMPTY_TABLE_FRAMES: Final = 30
_FRAMES_BEFORE_STEP: Final = 2
"""Frames of a scene, of the empty table, and from a scene's begin to its step."""

_SAMPLE_CARDS: Final = 6
"""Number of sample cards."""


class _ScriptedScene(NamedTuple):
    """Commands of a scene, and the step of the script."""

    lines: tuple[str, ...]
    answer: str
    options: tuple[str, ...] = ()


def record_video(table: SimulatedTable, path: Path) -> Path:
    """
    Write a video of a calibration, and its script beside it; return the script's path.

    Raises:
        UserError: The video or the script cannot be written.
    """
    fps, script = table.settings.fps, path.with_suffix(".toml")
    check_writable(script)
    video = _open_video(path, table)
    answers, count = [_layout_text(table)], 0
    try:
        for scene in _scenes(table):
            for line in scene.lines:
                table.execute(line)
            at = f"at = {(count + _FRAMES_BEFORE_STEP) / fps:.2f}"
            answers.append("\n".join((scene.answer, at, *scene.options, "")))
            for _ in range(_EMPTY_TABLE_FRAMES if scene.answer == "[empty]" else _SCENE_FRAMES):
                video.write(table.picture(at=count / fps))
                count += 1
    finally:
        video.release()
    check_whole(path, count)
    write_together({script: "\n".join(answers).encode()})
    return script


def _open_video(path: Path, table: SimulatedTable) -> cv2.VideoWriter:
    fault = f"{path}: no video can be written there; expected a name ending in .avi"
    # Opening a video truncates the file, so the name is checked first.
    if path.suffix.lower() != ".avi":
        raise UserError(fault)
    settings = table.settings
    size = settings.width, settings.height
    code = cv2.VideoWriter.fourcc(*"MJPG")
    video = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, code, settings.fps, size)
    if not video.isOpened():
        raise UserError(fault)
    video.set(cv2.VIDEOWRITER_PROP_QUALITY, 95)
    return video


def _scenes(table: SimulatedTable) -> Iterator[_ScriptedScene]:
    if table.settings.station is Station.THROAT:
        corners = table.camera.on_table(rectangle_corners(*CARD[::-1]))
        points = [[round(x, 2), round(y, 2)] for x, y in corners.tolist()]
        size = f"rectangle = [{CARD[1]:g}, {CARD[0]:g}]"
        yield _ScriptedScene(("exactly P1 AS",), "[plane]", (f"points = {points}", size))
    else:
        yield _ScriptedScene(("markers",), "[plane]", (f"size = {table.state.side:g}",))
    yield _ScriptedScene(("empty",), "[empty]")
    for number, rank in enumerate(RANKS):
        yield _card_scene(number, f"{rank}{'SHDC'[number % 4]}", "[[card]]")
    yield _ScriptedScene(("empty", "lay P1 back"), "[back]", ('slot = "P1"',))
    chosen = np.random.default_rng(table.settings.seed).permutation(len(DECK))[:_SAMPLE_CARDS]
    for number, which in enumerate(chosen):
        yield _card_scene(number, str(DECK[which]), "[[sample]]")


def _card_scene(number: int, card: str, answer: str) -> _ScriptedScene:
    slot = DEALING_ORDER[number % len(DEALING_ORDER)]
    return _ScriptedScene(
        ("empty", f"lay {slot} {card}"), answer, (f'card = "{card}"', f'slot = "{slot}"')
    )


def _layout_text(table: SimulatedTable) -> str:
    """Return the exact layout as a section of the script."""
    if table.settings.station is Station.THROAT:
        return "# The shoe's throat: all that its camera sees of it is watched.\n"
    x, y, turn = layout_position(table)
    return f'[layout]\npreset = "six"\nx = {x:.2f}\ny = {y:.2f}\nturn = {turn:.3f}\n'


def layout_position(table: SimulatedTable) -> tuple[float, float, float]:
    """
    Return the middle and rotation of the places, relative to the middle of the markers, as
    `plane_from_markers` measures them.
    """
    side = table.state.side
    corners = np.concatenate([marker_corners(sheet, side) for sheet in MARKER_SHEETS])
    middle = corners.mean(axis=0)
    base, along, down = table.camera.on_table(middle + np.array([[0, 0], [1, 0], [0, 1]]))
    slope = np.column_stack([along - base, down - base])
    right = np.linalg.solve(slope, np.array([1.0, 0.0]))
    turn = math.atan2(right[1], right[0])
    back = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
    x, y = back @ -middle
    return float(x), float(y), -math.degrees(turn)


def play_live(
    table: SimulatedTable,
    where: str,
    terminal: Terminal,
    stopping: Event,
    *,
    opened: Callable[[str], None],
) -> None:
    """
    Play live, with commands from the terminal, until it is closed; `opened` gets the port once
    there are frames.
    """
    sender = open_sender(where)
    try:
        table.picture()  # the first takes long: who looks should not wait for it
        opened(sender.address)
        began = time.monotonic()
        while not stopping.is_set() and _execute_commands(table, terminal):
            now = time.monotonic() - began
            if sender.watched:
                sender.send(table.picture(at=now), now)
            stopping.wait(max(0.0, 1 / table.settings.fps - (time.monotonic() - began - now)))
    finally:
        sender.close()


def _execute_commands(table: SimulatedTable, terminal: Terminal) -> bool:
    """Execute the typed commands so far; return False after the last one."""
    is_last = terminal.is_closed
    for line in terminal.typed():
        try:
            table.execute(line)
            terminal.show(f"done: {line}")
        except UserError as error:
            terminal.show(str(error))
    return not is_last
