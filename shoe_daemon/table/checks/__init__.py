"""The irregularities that follow from the facts of a round, one in each module."""
