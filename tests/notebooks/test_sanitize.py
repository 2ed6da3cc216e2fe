"""What nbval does not compare is named by patterns; these must find it, and be quick on an explorable's long line."""

from __future__ import annotations

import configparser
import re
import time
from pathlib import Path

import pytest

CONFIG = configparser.RawConfigParser()
CONFIG.read(Path(__file__).parent / "sanitize.cfg")


@pytest.mark.parametrize("name", CONFIG.sections())
def test_a_long_line_takes_no_time(name: str) -> None:
    line = '<path d="M 12.34 5678.9 L 100%,0/a-b" x="0x12"/>' * 2000  # 96,000 letters
    start = time.process_time()
    re.sub(CONFIG[name]["regex"], CONFIG[name]["replace"], line)
    assert time.process_time() - start < 1  # .* from each letter took minutes


def test_bars_of_progress_are_not_compared() -> None:
    pattern = CONFIG["progress"]
    text = "before\n 37%|███▋      | 37/100 [00:01<00:02]\nepoch 1: 100%|██████████|\nafter, 5 % | of it"
    assert re.sub(pattern["regex"], pattern["replace"], text) == "before\nPROGRESS\nPROGRESS\nafter, 5 % | of it"
