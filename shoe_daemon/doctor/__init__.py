"""
The checks of `doctor`: all that a table, a display or notifications depend on.

A running table with the same configuration is not disturbed.
"""

from shoe_daemon.doctor.brokers import check_table_broker
from shoe_daemon.doctor.devices import maturity_text
from shoe_daemon.doctor.examinations import (
    examine,
    examine_display,
    examine_kiosk,
    examine_notify,
)
from shoe_daemon.doctor.finding import Finding

__all__ = [
    "Finding",
    "check_table_broker",
    "examine",
    "examine_display",
    "examine_kiosk",
    "examine_notify",
    "maturity_text",
]
