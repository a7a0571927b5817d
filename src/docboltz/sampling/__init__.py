"""Monte Carlo on the model. Every function is a pure step that takes its random generator."""
