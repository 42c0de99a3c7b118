"""Take off exceptions.json what is no longer so. `--begin RULE` writes down who breaks a new rule today."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from architecture.rules import RULES, broken

FILE = Path(__file__).parent / "exceptions.json"

if __name__ == "__main__":
    known = json.loads(FILE.read_text(encoding="utf-8"))
    kept = {}
    for name in RULES:
        found = broken(name)
        left = found if sys.argv[1:] == ["--begin", name] else found & Counter(known.get(name, {}))
        for offence, count in sorted((found - left).items()):
            print(f"new, {name}: {offence} ({count})")
        print(f"{sum(left.values()):4d} {name}")
        if left:
            kept[name] = dict(sorted(left.items()))
    FILE.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
