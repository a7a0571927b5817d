"""The equations of the Over-Replicated Softmax, and nothing else: no loop over data, no files."""
