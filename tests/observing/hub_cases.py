"""Repositories in a folder, files of `file://`, and no network: programs of one line, in a folder `d` of their own."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.error import HTTPError, URLError

from tests.recording import Table

HUBCONF = '''
dependencies = ["json"]
import helper
def model(width, *, pretrained=False):
    """A model."""
    return helper.made(width), pretrained
def _hidden(): pass
not_callable = 3
'''
PROGRAMS = """
hub.load(str(d / "repo"), "model", 3, source="local", pretrained=True)
hub.load(str(d / "repo"), "model", 3, source="LOCAL")
hub.load(str(d / "repo"), "nothing", source="local")
hub.load(str(d / "repo"), "not_callable", source="local")
hub.load(str(d / "repo"), 3, source="local")
hub.load(str(d / "repo"), "model", source="here")
hub.load(str(d / "none"), "model", source="local")
hub.load(str(d / "broken"), "model", source="local")
hub.load("me/repo:main", "model", 4, trust_repo=True), (d / "hub" / "trusted_list").read_text()
hub.load("me/repo", "model", 4, trust_repo=True, verbose=False)
hub.load("me/other", "model", 4)
hub.load("me/other:main", "model", 4, skip_validation=True, trust_repo=True), sorted(os.listdir(d / "hub"))
hub.load("pytorch/vision:main", "model", skip_validation=True)
hub.load("me/evil:x", "model", skip_validation=True, trust_repo=True)
hub.load("me/repo:a:b", "model")
hub.load("me", "model")
hub.list("me/repo:main", trust_repo=True)
hub.help("me/repo:main", "model", trust_repo=True)
hub.help("me/repo:main", "nothing", trust_repo=True)
answered("y", lambda: hub.list("me/repo:main", trust_repo=False)), (d / "hub" / "trusted_list").read_text()
answered("n", lambda: hub.list("me/repo:main", trust_repo=False))
answered("", lambda: hub.list("me/new:main"))
answered("maybe", lambda: hub.list("me/repo:main", trust_repo=False))
hub.list("pytorch/vision:main")
hub.download_url_to_file(url, str(d / "copy"), progress=False), (d / "copy").stat().st_size == (d / "state.pth").stat().st_size
hub.download_url_to_file(url, str(d / "copy"), hash_prefix="00", progress=False)
hub.download_url_to_file(url, str(d / "copy"), hash_prefix=sha[:8], progress=False), sorted(os.listdir(d))
hub.download_url_to_file("file:///no/such/file", str(d / "copy"))
hub.download_url_to_file("https://nowhere.invalid/x", str(d / "copy"))
hub.download_url_to_file(url, str(d / "no" / "copy"))
hub.load_state_dict_from_url(url, progress=False), sorted(os.listdir(d / "hub" / "checkpoints"))
[hub.load_state_dict_from_url(url, progress=False, weights_only=True) for _ in range(2)][1]
hub.load_state_dict_from_url(url, str(d / "models"), file_name="mine", map_location="cpu"), os.listdir(d / "models")
hub.load_state_dict_from_url(hashed(sha[:8]), check_hash=True, progress=False)
hub.load_state_dict_from_url(hashed("0011aabb"), check_hash=True, progress=False)
hub.load_state_dict_from_url(zipped("w.pth"), progress=False)
hub.load_state_dict_from_url(zipped("../w.pth"), progress=False)
hub.load_state_dict_from_url("https://nowhere.invalid/x.pth")
zoo.load_url(url, progress=False)
named("TORCH_HOME", "/a"), named("XDG_CACHE_HOME", "/b"), named("NOTHING", "/b") == os.path.expanduser("~/.cache/torch/hub")
hub.set_dir("~/x"), hub.get_dir() == os.path.expanduser("~/x")
(os.environ.update(TORCH_HUB="x"), hub.get_dir() == str(d / "hub"), os.environ.pop("TORCH_HUB"))[1]
[hub._safe_extract_zip(archive(name), str(d / "out")) for name in ("a/b", "/abs")]
hub._safe_extract_zip(archive("C:/x"), str(d / "out"))
hub.HASH_REGEX.search("resnet-0a1b2c3d.pth").group(1)
"""


def outcome(torch: Any, program: str) -> Any:
    """What a program gives, or the error; what it prints, and its warnings."""
    hub, zoo = importlib.import_module(f"{torch.__name__}.hub"), importlib.import_module(f"{torch.__name__}.utils.model_zoo")
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        d = Path(folder)
        for place in ("repo", "hub/me_repo_main"):
            (d / place).mkdir(parents=True)
            (d / place / "hubconf.py").write_text(HUBCONF)
            (d / place / "helper.py").write_text("def made(width): return [width] * 2")
        (d / "broken").mkdir()
        (d / "broken" / "hubconf.py").write_text("dependencies = ['no_such_package', 'nor_this']\ndef model(): pass")
        torch.save({"w": torch.ones(2)}, d / "state.pth")
        import hashlib

        sha = hashlib.sha256((d / "state.pth").read_bytes()).hexdigest()

        def archive(name: str) -> zipfile.ZipFile:
            path = d / "packed.zip"
            with zipfile.ZipFile(path, "w") as packed:
                packed.writestr(name, b"x")
            return zipfile.ZipFile(path)

        def hashed(prefix: str) -> str:
            (d / f"state-{prefix}.pth").write_bytes((d / "state.pth").read_bytes())
            return f"file://{d}/state-{prefix}.pth"

        def zipped(name: str) -> str:
            torch.save({"w": torch.ones(3)}, d / "old.pth", _use_new_zipfile_serialization=False)
            with zipfile.ZipFile(d / "old.zip", "w") as packed:
                packed.write(d / "old.pth", name)
            return f"file://{d}/old.zip"

        def answered(answer: str, function: Any) -> Any:
            with mock.patch("builtins.input", lambda text: print(text) or answer):
                return function()

        def named(variable: str, value: str) -> str:
            kept = {k: v for k, v in os.environ.items() if k not in ("TORCH_HOME", "XDG_CACHE_HOME", "TORCH_HUB")}
            hub._hub_dir = None
            with mock.patch.dict(os.environ, {**kept, variable: value}, clear=True):
                return hub.get_dir()

        opened = hub.urlopen

        def urlopen(request: Any) -> Any:
            """No network, but GitHub's answer for two repositories."""
            asked = request if isinstance(request, str) else request.full_url
            if asked.startswith("file:") or "://" not in asked:
                return opened(request)
            if "zipball" in asked and "/vision/" not in asked:
                content = io.BytesIO()
                with zipfile.ZipFile(content, "w") as packed:
                    packed.writestr("top/", b"")
                    packed.writestr("top/hubconf.py" if "evil" not in asked else "../hubconf.py", "def model(n): return 'net', n")
                answer = io.BytesIO(content.getvalue())
                answer.info = lambda: mock.Mock(spec=["get_all", "get"], get_all=lambda n: None, get=lambda n: None)  # type: ignore[attr-defined]
                return answer
            if "/vision/" in asked:
                raise HTTPError(asked, 403, "Forbidden", None, None)  # type: ignore[arg-type]
            raise URLError("no network")

        hub._hub_dir = str(d / "hub")
        with (mock.patch.object(hub, "urlopen", urlopen), mock.patch.object(hub, "tqdm", hub._Faketqdm),
              warnings.catch_warnings(record=True) as warned):
            warnings.simplefilter("always")
            try:
                result: Any = eval(program, {"hub": hub, "zoo": zoo, "d": d, "url": f"file://{d}/state.pth", "sha": sha, "os": os,
                                             "archive": archive, "hashed": hashed, "zipped": zipped, "answered": answered, "named": named})
            except BaseException as error:  # any exception is an outcome
                result = {"error": type(error).__name__, "text": str(error)}
        hub._hub_dir = None

        def plain(text: str) -> str:
            return re.sub(r"[0-9a-f]{64}|[0-9a-f]{32}", "#", text.replace(folder, "DIR").replace(sha, "HASH").replace(sha[:8], "SHA"))

        return [plain(repr(result)), plain(printed.getvalue()), [plain(str(w.message)) for w in warned]]


TABLE = Table("hub", PROGRAMS.strip().splitlines(), outcome, zipped=True)
