"""Which index pip gets torch from: on Linux without an NVIDIA card PyTorch's own, for the CPU build.

    pip install $(python tools/torch_index.py) ...

It prints pip's option, or nothing, and says on standard error what it chose and why. pip's default torch for
Linux is the CUDA build: gigabytes that such a machine cannot use. What a user has told pip about its indexes
is left alone, as is everything where the index does not answer within two seconds.
"""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
SECONDS = 2.0
INDEX_OPTIONS = ("index-url", "extra-index-url", "no-index", "find-links")
NVIDIA = "0x10de"  # as a vendor of PCI devices
DISPLAY = "0x03"  # begins the class of PCI devices that draw
# What the driver makes: on Linux, in a container, in Linux under Windows.
DRIVER = ("proc/driver/nvidia", "dev/nvidia0", "usr/lib/wsl/lib/libcuda.so.1")


def settings_of_pip() -> str:
    """The user's own settings of pip, variables or files, that name its indexes; as pip names them."""
    pip = [sys.executable, "-m", "pip", "config", "list", "--disable-pip-version-check"]
    lines = subprocess.run(pip, capture_output=True, text=True, check=True).stdout.splitlines()
    names = (line.partition("=")[0] for line in lines)
    return ", ".join(name for name in names if name.rpartition(".")[2] in INDEX_OPTIONS)


def signs_of_a_card(root: Path) -> Iterator[str]:
    """What shows that the machine has an NVIDIA card.

    Args:
        root: of the file system.
    """
    try:
        if subprocess.run(["nvidia-smi", "-L"], capture_output=True, timeout=20).returncode == 0:
            yield "nvidia-smi lists a card"
    except (OSError, subprocess.TimeoutExpired):
        pass
    yield from (f"/{path} is there" for path in DRIVER if (root / path).exists())
    for device in (root / "sys/bus/pci/devices").glob("*"):  # a card without a driver
        try:
            vendor, kind = ((device / name).read_text().strip() for name in ("vendor", "class"))
        except OSError:
            continue
        if vendor == NVIDIA and kind.startswith(DISPLAY):
            yield f"PCI device {device.name} is an NVIDIA card"


def answers(index: str) -> bool:
    """Whether the page of torch on an index comes within `SECONDS`."""
    found: list[bytes] = []

    def ask() -> None:
        try:
            with urllib.request.urlopen(f"{index}/torch/", timeout=SECONDS) as page:
                found.append(page.read())
        except (OSError, ValueError):
            pass

    # A thread, because looking up a name has no limit of time.
    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(SECONDS)
    return bool(found) and b".whl" in found[0]


def choose(index: str, root: Path) -> tuple[list[str], str]:
    """The options for pip, and the reason.

    Args:
        index: that of the CPU build.
        root: of the file system.
    """
    if sys.platform != "linux":
        return [], ""  # pip's default torch is the CPU build
    if told := settings_of_pip():
        return [], f"as your settings of pip say ({told})"
    if card := next(signs_of_a_card(root), ""):
        return [], f"pip's default, the CUDA build: {card}"
    if not answers(index):
        why = f"this machine has no NVIDIA card, but {index} does not answer within {SECONDS:.0f} seconds"
        return [], f"pip's default, the CUDA build, some gigabytes: {why}"
    return ["--extra-index-url", index], f"the CPU build from {index}: this machine has no NVIDIA card"


def main(arguments: list[str]) -> None:
    """Print the options; the index and the root of the file system may be given, for tests."""
    index, root = [*arguments, *(CPU_INDEX, "/")[len(arguments) :]]
    try:
        options, why = choose(index.rstrip("/"), Path(root))
    except (OSError, subprocess.SubprocessError) as error:
        options, why = [], f"pip's default: {error}"
    if why:
        print(f"torch: {why}", file=sys.stderr)
    print(*options)


if __name__ == "__main__":
    main(sys.argv[1:])
