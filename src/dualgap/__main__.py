"""python -m dualgap is the command dualgap."""

from __future__ import annotations

from dualgap.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
