"""Random and systematic input, generated: a short run in the suite, a long one by `make fuzz`."""
