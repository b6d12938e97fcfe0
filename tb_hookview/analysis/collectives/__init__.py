"""Collectives of one rank: when each ran, in which group, what it carried, what ran before it."""
