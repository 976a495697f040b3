"""
Checks that imports go one way, as the design says, and that the core stays pure.

`python -m tools.check_imports [ROOT]` prints each fault as one line and ends with 1 where
there is any. The source is only read: nothing of it is imported, nothing runs.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

PACKAGES = ("shoe_daemon", "drivers", "calibration")
# These lie beside the packages and are not installed with them.
OUTSIDE = ("tests", "bench", "tools")
CLI = "shoe_daemon.cli"

# What a room may import of ours besides itself; the longest name that fits a module is its
# room. A name allows all that lies below it.
_CORE = ("shoe_daemon.game", "shoe_daemon.table", "shoe_daemon.errors")
_NAMED = "shoe_daemon.credential_files"
_TOML = "shoe_daemon.toml_validation"
_WAITS = "shoe_daemon.backoff"
_SEEN = (
    "shoe_daemon.game",
    "shoe_daemon.table.observations",
    "shoe_daemon.errors",
    _NAMED,
    _TOML,
    _WAITS,
)
DIRECTION: dict[str, tuple[str, ...]] = {
    "shoe_daemon.errors": (),
    "shoe_daemon.backoff": (),
    "shoe_daemon.credential_files": ("shoe_daemon.errors",),
    _TOML: ("shoe_daemon.errors",),
    "shoe_daemon.passwords": ("shoe_daemon.errors", _WAITS),
    "shoe_daemon.game": ("shoe_daemon.errors", _TOML),
    "shoe_daemon.table": ("shoe_daemon.game", "shoe_daemon.errors"),
    "shoe_daemon.journal": _CORE,
    "shoe_daemon.report": (*_CORE, "shoe_daemon.journal"),
    "shoe_daemon.mqtt": (*_CORE, _NAMED, _WAITS),
    "shoe_daemon.event_text": _CORE,
    "shoe_daemon.display": (
        *_CORE,
        "shoe_daemon.mqtt",
        "shoe_daemon.systemd_notify",
        "shoe_daemon.event_text",
        _NAMED,
        _TOML,
        _WAITS,
        "shoe_daemon.passwords",
        "shoe_daemon.shutdown_signals",
    ),
    "drivers": _SEEN,
    "calibration": (*_SEEN, "drivers"),
    # Configuration, service, demo and the command line put it all together.
    "shoe_daemon": PACKAGES,
}

# Packages with a public interface: others import the names in `__all__` of the package, not the
# modules below it. The modules named here are public too; so are sub-packages of `drivers`.
INTERFACES: dict[str, tuple[str, ...]] = {
    "shoe_daemon.game": ("shoe_daemon.game.odds",),
    "shoe_daemon.table": ("shoe_daemon.table.observations",),
    "drivers": ("drivers.angel_eye_ii", "drivers.camera", "drivers.simulators"),
}

# The libraries of the extras, and the modules that may import them.
_TERMINAL = (
    "shoe_daemon.demo*",
    "shoe_daemon.display*",
    "shoe_daemon.mqtt.embedded_broker",
    f"{CLI}.demo",
    f"{CLI}.watch",
)
EXTRAS: dict[str, tuple[str, ...]] = {
    "cv2": (
        "drivers.camera*",
        "drivers.simulators.card_artwork*",
        "drivers.simulators.camera*",
        "calibration*",
    ),
    "torch": ("calibration.training*",),
    "PIL": ("calibration.training*",),
    "rich": _TERMINAL,
    "amqtt": _TERMINAL,
    "starlette": ("shoe_daemon.display*", f"{CLI}.display"),
    "uvicorn": ("shoe_daemon.display*", f"{CLI}.display"),
    "argon2": ("shoe_daemon.passwords",),
}

# The core reads no clock, knows no chance, logs nothing and touches nothing outside itself.
PURE = ("shoe_daemon.game", "shoe_daemon.table")
# fmt: off
IMPURE_MODULES = frozenset({
    "asyncio", "click", "http", "logging", "multiprocessing", "os", "paho", "queue", "random",
    "secrets", "select", "selectors", "serial", "shutil", "signal", "socket", "sqlite3", "ssl",
    "structlog", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid",
})
# fmt: on
CLOCKS = frozenset({"now", "today", "utcnow"})


class Import(NamedTuple):
    """One module that another one imports, and the line where it does."""

    line: int
    module: str


def main(arguments: list[str]) -> int:
    """Print the faults of the tree that is named, or of this one; 1 where there are any."""
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    faults = list(check(root))
    for fault in faults:
        print(fault)
    print(f"imports: {len(faults)} fault(s)" if faults else "imports: all go one way")
    return 1 if faults else 0


def check(root: Path) -> Iterator[str]:
    """Give every fault below a root as `file:line: what is wrong`."""
    modules = {_module_name(path.relative_to(root)): path for path in _sources(root)}
    # `from package import name` takes the exported name even where a module has the same name.
    loadable = modules.keys() - {
        f"{package}.{name}"
        for package in INTERFACES
        if package in modules
        for name in _exported(modules[package])
    }
    for name, path in sorted(modules.items()):
        tree = ast.parse(path.read_bytes(), filename=str(path))
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for line, fault in sorted(_faults(tree, name, package, loadable)):
            yield f"{path.relative_to(root)}:{line}: {fault}"


def _sources(root: Path) -> Iterator[Path]:
    for package in PACKAGES:
        yield from (root / package).rglob("*.py")


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _exported(path: Path) -> list[str]:
    """
    Return the names in `__all__` of a package.
    """
    for node in ast.parse(path.read_bytes(), filename=str(path)).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=names)):
                return [str(name.value) for name in names if isinstance(name, ast.Constant)]
    return []


def _faults(
    tree: ast.Module, name: str, package: str, modules: AbstractSet[str]
) -> Iterator[tuple[int, str]]:
    for line, imported in _imports(tree, package, modules):
        for fault in _judge(name, imported):
            yield line, f"{name} must not import {imported}: {fault}"
    if _within_any(name, PURE):
        for line, clock in _clocks(tree):
            yield line, f"{name} must not call {clock}(): time comes in with the observation"


def _imports(tree: ast.Module, package: str, modules: AbstractSet[str]) -> Iterator[Import]:
    """Give all imports, those inside functions and of `import_module("…")` too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, package)
            names = (f"{base}.{alias.name}" for alias in node.names)
            # `from room import name` takes a module where there is one of that name.
            yield from (Import(node.lineno, n if n in modules else base) for n in names)
        elif isinstance(node, ast.Call) and _called(node) in {"import_module", "__import__"}:
            match node.args:
                case [ast.Constant(value=str(module)), *_]:
                    yield Import(node.lineno, module)


def _base(node: ast.ImportFrom, package: str) -> str:
    """Say which module a `from … import` starts at, dots resolved."""
    if not node.level:
        return node.module or ""
    parents = package.split(".")
    above = parents[: len(parents) - (node.level - 1)]
    return ".".join([*above, *([node.module] if node.module else [])])


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _clocks(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in CLOCKS:
            yield node.lineno, _called(node)


def _judge(name: str, imported: str) -> Iterator[str]:
    """Say what is wrong with one module importing another; nothing where it may."""
    top = imported.partition(".")[0]
    if top in OUTSIDE:
        yield f"{top}/ is not installed"
    if top in PACKAGES and not _may(name, imported):
        yield "imports go one way"
    elif (package := _hidden_in(name, imported)) is not None:
        yield f"import the name from {package}"
    if top in EXTRAS and not any(fnmatchcase(name, pattern) for pattern in EXTRAS[top]):
        yield f"{top} belongs to an extra, only for {', '.join(EXTRAS[top])}"
    if top in IMPURE_MODULES and _within_any(name, PURE):
        yield "the core does no I/O, reads no clock, knows no chance"


def _may(name: str, imported: str) -> bool:
    if _within(imported, CLI):
        return _within(name, CLI) or name == "shoe_daemon.__main__"
    if imported == "shoe_daemon":  # it holds the version and nothing else
        return not _within_any(name, PURE)
    room = max((room for room in DIRECTION if _within(name, room)), key=len)
    return _within_any(imported, (room, *DIRECTION[room]))


def _hidden_in(name: str, imported: str) -> str | None:
    """
    Return the package in whose place a module below it is imported; None if it is public.
    """
    for package, public in INTERFACES.items():
        below = _within(imported, package) and imported != package
        if below and not _within(name, package) and not _within_any(imported, public):
            return package
    return None


def _within(name: str, room: str) -> bool:
    return name == room or name.startswith(f"{room}.")


def _within_any(name: str, rooms: tuple[str, ...]) -> bool:
    return any(_within(name, room) for room in rooms)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
