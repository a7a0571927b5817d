"""How good are the features and topics? Measured on documents whose labels are known."""
