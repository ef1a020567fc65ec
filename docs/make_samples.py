"""Records the sample captures anew, with the demo's peers. Ids, states and times differ each time.

python docs/make_samples.py [NAME…]
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


def main(names: list[str]) -> None:
    for name in names or SAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            record(Path(folder), SAMPLES[name], say=lambda text: print(f"  {text}"))
            target = ROOT / "captures" / name
            shutil.rmtree(target, ignore_errors=True)
            (target / "journals").mkdir(parents=True)
            for journal in sorted((Path(folder) / "journals").glob("*.mrj")):
                shutil.copyfile(journal, target / "journals" / journal.name)
            print(target.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
