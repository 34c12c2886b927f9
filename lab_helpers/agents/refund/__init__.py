"""The refund agent (seed 000): five steps, of which only the fourth can act."""
