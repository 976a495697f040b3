"""
What measures speed, memory and accuracy; nothing here is installed.
"""
