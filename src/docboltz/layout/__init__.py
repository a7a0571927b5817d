"""Features of a collection → a map: a place on the plane for every document."""
