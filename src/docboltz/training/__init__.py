"""Learning: schedules, statistics, and the loop that turns statistics into a model."""
