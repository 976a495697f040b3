"""Notifications: who is told when, and how."""
