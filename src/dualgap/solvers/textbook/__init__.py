"""The algorithms of the lectures, as they are written there: to be chosen by name, watched and compared."""
