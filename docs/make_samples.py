"""Records the sample captures anew, with the demo's peers. Ids, states and times differ each time.

python docs/make_samples.py
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from mrtrscope.demo.run import HTTP, RELAY, STDIO, record

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = {"sample-demo": (STDIO, HTTP), "sample-stdio": (STDIO,), "sample-relay": (RELAY,)}


def main() -> None:
    for name, transports in SAMPLES.items():
        with tempfile.TemporaryDirectory() as folder:
            record(Path(folder), transports, say=lambda text: print(f"  {text}"))
            target = ROOT / "captures" / name
            shutil.rmtree(target, ignore_errors=True)
            (target / "journals").mkdir(parents=True)
            for journal in sorted((Path(folder) / "journals").glob("*.mrj")):
                shutil.copyfile(journal, target / "journals" / journal.name)
            print(target.relative_to(ROOT))


if __name__ == "__main__":
    main()
