"""
Tests of what is said to the broker, most of them against the real mosquitto.
"""
