"""
A browser page on this machine that shows the camera picture and what was read.
"""
