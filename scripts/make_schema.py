"""Write schema/run-1.schema.json from the records and tables; with --check only say whether it is up to date."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from caveat.figures import json_schema

TARGET = Path(__file__).parent.parent / "schema" / "run-1.schema.json"


def text() -> str:
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    up_to_date = TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text()
    if "--check" in arguments:
        if not up_to_date:
            print(f"{TARGET.name} is out of date; next: python scripts/make_schema.py", file=sys.stderr)
        return 0 if up_to_date else 1
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
