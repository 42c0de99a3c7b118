"""The command `dualgap`, one verb a file. Nothing heavy is imported before a verb runs."""
