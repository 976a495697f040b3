"""
Finding the card in a picture and reading its rank and suit.
"""
