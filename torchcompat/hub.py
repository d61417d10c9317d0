"""torch.hub: models that repositories offer in a `hubconf.py`, and files of the network, kept in a folder.

A repository is Python code, and runs: those of owners that are not known are asked about. Archives may write nowhere but to the folder.
"""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import sys
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from autograd_tape import warned
from ._calls.absent import absences as _absences
from .serialization import load as _load_file

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_TRUSTED_REPO_OWNERS = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")
ENV_GITHUB_TOKEN, ENV_TORCH_HOME, ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR = "GITHUB_TOKEN", "TORCH_HOME", "XDG_CACHE_HOME", "~/.cache"
VAR_DEPENDENCY, MODULE_HUBCONF, READ_DATA_CHUNK = "dependencies", "hubconf.py", 128 * 1024
_hub_dir: str | None = None


class _Faketqdm:
    """What stands for tqdm where it is missing: the share that is done, or the bytes, on one line."""

    def __init__(self, total: int | None = None, disable: bool = False, unit: str | None = None, **options: object) -> None:
        self.total, self.disable, self.n = total, disable, 0

    def update(self, n: int) -> None:
        """So many more are done."""
        if not self.disable:
            self.n += n
            sys.stderr.write(f"\r{self.n:.1f} bytes" if self.total is None else f"\r{100 * self.n / float(self.total):.1f}%")
            sys.stderr.flush()

    def close(self) -> None:
        """No more is shown."""
        self.disable = True

    def __enter__(self) -> _Faketqdm:
        return self

    def __exit__(self, *exc: object) -> None:
        if not self.disable:
            sys.stderr.write("\n")


try:
    from tqdm import tqdm
except ImportError:
    tqdm = _Faketqdm


def get_dir() -> str:
    """The folder: what `set_dir` said, or `hub` in $TORCH_HOME, in $XDG_CACHE_HOME/torch, or in ~/.cache/torch."""
    if os.getenv("TORCH_HUB"):
        warned.warn("TORCH_HUB is deprecated, please use env TORCH_HOME instead")
    return os.path.join(_get_torch_home(), "hub") if _hub_dir is None else _hub_dir


def set_dir(d: str | os.PathLike[str]) -> None:
    """Makes `d` the folder."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


def _get_torch_home() -> str:
    cache = os.path.join(os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR), "torch")
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, cache))


def load(repo_or_dir: str, model: str, *args: object, source: str = "github", trust_repo: bool | str | None = "check",
         force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: object) -> object:
    """What a function of a repository's `hubconf.py` gives.

    Args:
        repo_or_dir: "owner/name" or "owner/name:branch" on GitHub; a folder where `source` is "local".
        model: the function; the arguments after it are its own.
        trust_repo: True trusts the repository from now on, False asks, "check" asks where it is not trusted yet.
        force_reload: whether to load it from the network though it is in the folder.
        verbose: whether to say that it is there.
        skip_validation: whether not to ask GitHub if the branch is the repository's own.

    Raises:
        ValueError: the source is unknown, `model` is no text, or GitHub knows no such branch.
        RuntimeError: the function, what it depends on, or the network is missing.
        Exception: the repository is not trusted.
    """
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        repo_or_dir = _get_cache_or_reload(repo_or_dir, force_reload, trust_repo, verbose, skip_validation)
    return _load_local(repo_or_dir, model, *args, **kwargs)


def list(github: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: bool | str | None = "check",
         verbose: bool = True) -> builtins.list[str]:
    """The names of what a repository offers; see `load`."""
    with _hubconf(_get_cache_or_reload(github, force_reload, trust_repo, verbose, skip_validation)) as module:
        return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(github: str, model: str, force_reload: bool = False, skip_validation: bool = False,
         trust_repo: bool | str | None = "check") -> str | None:
    """The docstring of a function of a repository's; see `load`."""
    with _hubconf(_get_cache_or_reload(github, force_reload, trust_repo, True, skip_validation)) as module:
        return _entry(module, model).__doc__


def _load_local(hubconf_dir: str, model: str, *args: object, **kwargs: object) -> object:
    with _hubconf(hubconf_dir) as module:
        return _entry(module, model)(*args, **kwargs)


@contextlib.contextmanager
def _hubconf(folder: str) -> Iterator[ModuleType]:
    """The module of a folder; inside, its own imports are found there."""
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location(MODULE_HUBCONF, os.path.join(folder, MODULE_HUBCONF))
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(folder)


def _entry(module: ModuleType, model: str) -> Any:
    """A function of a hubconf, whose dependencies are there."""
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    missing = [name for name in getattr(module, VAR_DEPENDENCY, None) or () if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    found = getattr(module, model) if model in dir(module) else None
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def _parse_repo_info(github: str) -> tuple[str, str, str]:
    """(owner, name, branch) of "owner/name:branch"; without a branch "main" where there is one, "master" else."""
    repository, ref = github.split(":") if ":" in github else (github, None)
    owner, name = repository.split("/")
    if ref is not None:
        return owner, name, ref
    try:
        with urlopen(f"https://github.com/{owner}/{name}/tree/main/"):
            return owner, name, "main"
    except HTTPError as error:
        if error.code != 404:
            raise
        return owner, name, "master"
    except URLError as error:
        for ref in ("main", "master"):
            if os.path.exists(f"{get_dir()}/{owner}_{name}_{ref}"):
                return owner, name, ref
        raise RuntimeError("It looks like there is no internet connection and the repo could not be found in the cache "
                           f"({get_dir()})") from error


def _get_cache_or_reload(github: str, force_reload: bool, trust_repo: bool | str | None, verbose: bool = True,
                         skip_validation: bool = False) -> str:
    """The folder of a repository, loaded where it is not there."""
    hub_dir = get_dir()
    os.makedirs(hub_dir, exist_ok=True)
    owner, name, ref = _parse_repo_info(github)
    plain = ref.replace("/", "_")
    repo_dir = os.path.join(hub_dir, f"{owner}_{name}_{plain}")
    _check_repo_is_trusted(owner, name, f"{owner}_{name}_{plain}", trust_repo)
    if not force_reload and os.path.exists(repo_dir):
        if verbose:
            sys.stderr.write(f"Using cache found in {repo_dir}\n")
        return repo_dir
    if not skip_validation:
        _validate_not_a_forked_repo(owner, name, ref)
    archive = os.path.join(hub_dir, plain + ".zip")
    _remove_if_exists(archive)
    url = _git_archive_link(owner, name, ref)
    sys.stdout.write(f'Downloading: "{url}" to {archive}\n')
    try:
        download_url_to_file(url, archive, progress=False)
    except HTTPError as error:
        if error.code != 300:
            raise
        warned.warn(f"The ref {ref} is ambiguous. Perhaps it is both a tag and a branch in the repo? Torchhub will now assume that "
                    f"it's a branch. You can disambiguate tags and branches by explicitly passing refs/heads/branch_name or "
                    f"refs/tags/tag_name as the ref. That might require using skip_validation=True.")
        download_url_to_file(_git_archive_link(owner, name, f"refs/heads/{ref}"), archive, progress=False)
    with zipfile.ZipFile(archive) as packed:
        unpacked = os.path.join(hub_dir, packed.infolist()[0].filename)
        _remove_if_exists(unpacked)
        _safe_extract_zip(packed, hub_dir)
    _remove_if_exists(archive)
    _remove_if_exists(repo_dir)
    shutil.move(unpacked, repo_dir)
    return repo_dir


def _git_archive_link(repo_owner: str, repo_name: str, ref: str) -> str:
    return f"https://github.com/{repo_owner}/{repo_name}/zipball/{ref}"


def _check_repo_is_trusted(repo_owner: str, repo_name: str, owner_name_branch: str, trust_repo: bool | str | None) -> None:
    """Asks where it must, and notes a repository that is trusted."""
    hub_dir, owner_name = get_dir(), f"{repo_owner}_{repo_name}"
    listed = os.path.join(hub_dir, "trusted_list")
    Path(listed).touch()
    with open(listed) as file:
        known = owner_name in [line.strip() for line in file]
    trusted = known or os.path.isdir(os.path.join(hub_dir, owner_name_branch)) or repo_owner in _TRUSTED_REPO_OWNERS
    if trust_repo is False or trust_repo == "check" and not trusted:
        answer = input(f"The repository {owner_name} does not belong to the list of trusted repositories and as such cannot be downloaded. "
                       f"Do you trust this repository and wish to add it to the trusted list of repositories (y/N)?")
        if answer.lower() in ("n", "no", ""):
            raise Exception("Untrusted repository.")
        if answer.lower() not in ("y", "yes"):
            raise ValueError(f"Unrecognized response {answer}.")
        if trusted:
            print("The repository is already trusted.")
    if not trusted:
        with open(listed, "a") as file:
            file.write(owner_name + "\n")


def _read_url(url: str | Request) -> str:
    with urlopen(url) as answer:
        return answer.read().decode(answer.headers.get_content_charset("utf-8"))


def _validate_not_a_forked_repo(repo_owner: str, repo_name: str, ref: str) -> None:
    """Asks GitHub whether a branch, a tag or a commit at the end of one is the repository's own: others could put theirs under its name.

    Raises:
        ValueError: it is not.
    """
    headers, token = {"Accept": "application/vnd.github.v3+json"}, os.environ.get(ENV_GITHUB_TOKEN)
    if token is not None:
        headers["Authorization"] = f"token {token}"
    for kind in ("branches", "tags"):
        page = 0
        while True:
            page += 1
            url = f"https://api.github.com/repos/{repo_owner}/{repo_name}/{kind}?per_page=100&page={page}"
            try:
                found = json.loads(_read_url(Request(url, headers=headers)))
            except HTTPError:
                if headers.pop("Authorization", None) is None:
                    raise
                found = json.loads(_read_url(Request(url, headers=headers)))
            if any([branch["name"] == ref or branch["commit"]["sha"].startswith(ref) for branch in found]):
                return
            if not found:
                break
    raise ValueError(f"Cannot find {ref} in https://github.com/{repo_owner}/{repo_name}. If it's a commit from a forked repo, please call "
                     f"hub.load() with forked repo directly.")


def _remove_if_exists(path: str) -> None:
    if os.path.isfile(path):
        os.remove(path)
    elif os.path.exists(path):
        shutil.rmtree(path)


def _safe_extract_zip(zip_file: zipfile.ZipFile, extract_to: str) -> None:
    """Unpacks an archive.

    Raises:
        ValueError: a file of it would lie elsewhere.
    """
    folder = Path(extract_to).resolve()
    for member in zip_file.infolist():
        name = os.path.normpath(member.filename)
        if name.startswith(("/", "\\")) or name[1:2] == ":" and name[0].isalpha():
            raise ValueError(f"Archive entry has absolute path: {member.filename}")
        if ".." in re.split(r"[/\\]", name):
            raise ValueError(f"Archive entry contains directory traversal: {member.filename}")
        if not (folder / name).resolve().is_relative_to(folder):
            raise ValueError(f"Archive entry escapes target directory: {member.filename}")
        zip_file.extract(member, folder)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Loads a file; until it is whole, and right, it lies beside `dst` under another name.

    Args:
        hash_prefix: how its SHA-256 begins.
        progress: whether to show how far it is.

    Raises:
        URLError: there is no network, or no such file.
        RuntimeError: it has another hash.
    """
    dst = os.path.expanduser(dst)
    part = f"{dst}.{uuid.uuid4().hex}.partial"
    try:
        with open(part, "x+b") as file, urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as answer:
            length, digest = answer.info().get("Content-Length"), hashlib.sha256()
            with tqdm(total=None if length is None else int(length), disable=not progress, unit="B", unit_scale=True,
                      unit_divisor=1024) as bar:
                while chunk := answer.read(READ_DATA_CHUNK):
                    file.write(chunk)
                    digest.update(chunk)
                    bar.update(len(chunk))
        if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
        shutil.move(part, dst)
    finally:
        if os.path.exists(part):
            os.remove(part)


def load_state_dict_from_url(url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True,
                             check_hash: bool = False, file_name: str | None = None, weights_only: bool = False) -> dict[str, Any]:
    """What `torch.load` reads from a file of the network, which is kept.

    Args:
        model_dir: where; `checkpoints` in the folder where None.
        map_location, weights_only: see `torch.load`.
        check_hash: whether its name says how its hash begins: `name-1a2b3c4d.pth`.
        file_name: under which name it is kept; that in the URL where None.
    """
    if os.getenv("TORCH_MODEL_ZOO"):
        warned.warn("TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead")
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = os.path.basename(urlparse(url).path) if file_name is None else file_name
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stdout.write(f'Downloading: "{url}" to {path}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress=progress)
    if _is_legacy_zip_format(path):
        return _legacy_zip_load(path, folder, map_location, weights_only)
    return _load_file(path, map_location=map_location, weights_only=weights_only)


def _is_legacy_zip_format(filename: str) -> bool:
    """Whether it is an archive of one file, as models were packed once."""
    if not zipfile.is_zipfile(filename):
        return False
    with zipfile.ZipFile(filename) as packed:
        members = packed.infolist()
    return len(members) == 1 and not members[0].is_dir()


def _legacy_zip_load(filename: str, model_dir: str, map_location: Any, weights_only: bool) -> dict[str, Any]:
    """What the only file of an archive holds."""
    warned.warn("Falling back to the old format < 1.6. This support will be deprecated in favor of default zipfile format introduced in "
                "1.6. Please redo torch.save() to save it in the new zipfile format.", FutureWarning)
    with zipfile.ZipFile(filename) as packed:
        _safe_extract_zip(packed, model_dir)
        member = packed.infolist()[0].filename
    return _load_file(os.path.join(model_dir, member), map_location=map_location, weights_only=weights_only)


_absences(__name__)
