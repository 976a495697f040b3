"""The log at level debug has the way of each card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.demo.demo_process import run


def test_each_card_is_logged_as_frame_observation_event_and_message(tmp_path: Path) -> None:
    clean = ("--warm-up", "0", "--fault-rate", "0", "--seed", "3")
    options = ("--debug", "--speed", "0", "--rounds", "2", *clean)
    status, _, log = run(tmp_path, *options)
    assert status == 0
    lines = [json.loads(line) for line in log.splitlines()]

    def logged(event: str) -> list[dict[str, Any]]:
        return [{**line, "place": n} for n, line in enumerate(lines) if line["event"] == event]

    events = [(each["place"], json.loads(each["text"])) for each in logged("event_recorded")]
    dealt = [(place, event) for place, event in events if event["type"] == "card_dealt"]
    read = [(each["place"], json.loads(each["text"])) for each in logged("observation_decoded")]
    shoe = [each for each in logged("frame_read") if each["reader"] == "shoe"]
    frames = [each["place"] for each in shoe if each["kind"] == "frame"]
    assert len(dealt) >= 8
    for place, event in dealt:
        card = event["data"]["card"]
        before = max(at for at, each in read if each.get("card") == card and at < place)
        # Another thread may log something between a frame and its observation.
        earlier = max((at for at, _ in read if at < before), default=-1)
        assert any(earlier < at < before for at in frames)
    sent = [each["topic"].rsplit("/", 1)[-1] for each in logged("message_sent")]
    # The display may ask once more for events that its log lacks.
    assert sent.count("card_dealt") >= len(dealt)
    states = [each["changed"] for each in logged("message_sent") if each["topic"][-6:] == "/state"]
    assert "schema" in states[0]
    assert not any("schema" in changed for changed in states[1:])
