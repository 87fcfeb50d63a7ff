"""Write schema/*.schema.json from the records and tables; with --check only say whether they are up to date."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from caveat.figures import json_schema
from caveat.loadgen import spec_schema
from caveat.simulator import model_schema

FOLDER = Path(__file__).parent.parent / "schema"
SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "run-1.schema.json": json_schema,
    "model-1.schema.json": model_schema,
    "spec-1.schema.json": spec_schema,
}


def text(name: str) -> str:
    return json.dumps(SCHEMAS[name](), indent=1, ensure_ascii=False) + "\n"


def is_up_to_date(name: str) -> bool:
    target = FOLDER / name
    return target.is_file() and target.read_text(encoding="utf-8") == text(name)


def main(arguments: list[str]) -> int:
    old = [name for name in SCHEMAS if not is_up_to_date(name)]
    if "--check" in arguments:
        for name in old:
            print(f"{name} is out of date; next: python scripts/make_schema.py", file=sys.stderr)
        return 1 if old else 0
    FOLDER.mkdir(exist_ok=True)
    for name in old:
        (FOLDER / name).write_text(text(name), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
