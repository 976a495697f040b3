"""
The web scoreboard and the pit view, fed from MQTT.
"""
