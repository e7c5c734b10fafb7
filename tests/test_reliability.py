"""What docs/reliability.md promises: every test that it names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAMED = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", (ROOT / "docs" / "reliability.md").read_text())


def test_every_test_that_holds_a_promise_is_there():
    assert NAMED
    missing = [(path, name) for path, name in NAMED if not (ROOT / path).is_file()
               or (f"def {name}(" not in (ROOT / path).read_text() and name)]
    assert missing == []
