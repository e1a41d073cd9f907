"""A process that pays once, with its memory in a file, and is killed meanwhile: `python -m tests.killed_shop MEMORY BASE_URL REFERENCE ID`."""

import sys
import time
from pathlib import Path

from tollgate_client.sqlite_memory import SqliteMemory

from .scene import client, pay


def main() -> None:
    path, base_url, reference, correlation_id = sys.argv[1:]

    def begun(_: object) -> None:
        print("begun", flush=True)
        if base_url == "nowhere":
            time.sleep(600)

    where = {} if base_url == "nowhere" else {"base_url": base_url}
    gateway = client(memory=SqliteMemory(Path(path)), request_timeout_seconds=600, **where)
    pay(gateway, reference, correlation_id=correlation_id, before_send=begun)
    print("known", flush=True)


if __name__ == "__main__":
    main()
