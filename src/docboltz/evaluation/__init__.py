"""How good are the features? Retrieval and classification on documents whose labels are known."""
