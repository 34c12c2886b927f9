"""The grounded concierge (seed 003): answers about products come from rows, or not at all."""
