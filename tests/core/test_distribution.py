"""Who asks for the version of torch that is installed is told of what stands in its place, unless torch is installed."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from torchcompat import dropin, version


def test_the_version_of_what_stands_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed = bool(list(metadata.distributions(name="torch")))
    dropin.install()
    try:
        if not installed:
            assert metadata.version("torch") == version.__version__
            assert metadata.metadata("torch")["Summary"].startswith("torchcompat of autograd-tape")
            assert not metadata.files("torch") and metadata.requires("torch") is None
        (tmp_path / "torch-9.9.dist-info").mkdir()
        (tmp_path / "torch-9.9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n")
        monkeypatch.syspath_prepend(tmp_path)
        assert metadata.version("torch") == "9.9"
        with pytest.raises(metadata.PackageNotFoundError):
            metadata.version("torch.nn")
    finally:
        dropin.uninstall()
    assert metadata.version("torch") == "9.9"
