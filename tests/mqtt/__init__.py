"""Tests of MQTT, most of them against a real mosquitto."""
