"""The same verbs on a cluster, by Ray: parts of a collection are counted, learnt from and inferred
where there is room, and the caller's process holds the vocabulary and no document."""
