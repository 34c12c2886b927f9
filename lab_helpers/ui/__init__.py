"""The face of the lab: panels, tables, drawings, progress. It shows state and decides nothing."""
