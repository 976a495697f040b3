"""
Checks imports: no cycles, extras only where they belong, and a pure core.

The direction of imports is checked by import-linter, with the contracts in pyproject.toml.

`python -m tools.check_imports [ROOT]` prints each fault on one line and ends with
status 1 if there is any. The source is only parsed, not imported.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

PACKAGES = ("shoe_daemon", "drivers", "calibration")
OUTSIDE = ("tests", "bench", "tools")
# Tests may import the benches; the benches import nothing of the tests but the fake servers.
BESIDE: dict[str, tuple[str, ...]] = {
    "bench": ("bench", "tests.fakes"),
    "tests.fakes": ("tests.fakes",),
}

# Packages with a public interface: others import the names in `__all__` of the package, not the
# modules below it. The modules named here are public too; so are sub-packages of `drivers`.
INTERFACES: dict[str, tuple[str, ...]] = {
    "shoe_daemon.game": ("shoe_daemon.game.exact_odds",),
    "shoe_daemon.table": ("shoe_daemon.table.observations",),
    "drivers": ("drivers.angel_eye_ii", "drivers.camera", "drivers.simulators"),
}

# Modules that may import the libraries of the extras.
_TERMINAL = (
    "shoe_daemon.demo*",
    "shoe_daemon.display*",
    "shoe_daemon.mqtt.broker",
)
EXTRAS: dict[str, tuple[str, ...]] = {
    "cv2": (
        "drivers.camera*",
        "drivers.simulators.card_artwork*",
        "drivers.simulators.camera*",
        "calibration*",
    ),
    "av": ("drivers.camera.clip", "drivers.camera.sources.video"),
    "torch": ("calibration.training*",),
    "PIL": ("calibration.training*",),
    "rich": _TERMINAL,
    "amqtt": _TERMINAL,
    "starlette": ("shoe_daemon.display*",),
    "uvicorn": ("shoe_daemon.display*",),
    "argon2": ("shoe_daemon.operators",),
    "prometheus_client": (
        "shoe_daemon.service.prometheus",
        "shoe_daemon.display.metrics",
        "shoe_daemon.notify.metrics",
        "shoe_daemon.forward.metrics",
    ),
    "psycopg": (
        "shoe_daemon.display.log.postgres",
        "shoe_daemon.forward.database",
        "shoe_daemon.postgres",
    ),
    "apprise": ("shoe_daemon.notify.senders",),
    "gpiod": ("drivers.gpio_line", "shoe_daemon.lamps.outputs"),
    "cryptography": (
        "shoe_daemon.install.certificates",
        "shoe_daemon.journal.keys",
    ),
}

# The core does no I/O, reads no clock, uses no randomness and logs nothing.
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
    """An imported module, and the line of the import."""

    line: int
    module: str


def main(arguments: list[str]) -> int:
    """Print the violations in a tree; return 1 if there are any."""
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    faults = list(check(root))
    for fault in faults:
        print(fault)
    print(f"imports: {len(faults)} fault(s)" if faults else "imports: no faults")
    return 1 if faults else 0


def check(root: Path) -> Iterator[str]:
    """Give every fault below a root as `file:line: fault`."""
    modules = {_module_name(path.relative_to(root)): path for path in _sources(root)}
    # `from package import name` takes the exported name even where a module has the same name.
    loadable = modules.keys() - {
        f"{package}.{name}"
        for package in INTERFACES
        if package in modules
        for name in _exported(modules[package])
    }
    graph: dict[str, set[str]] = {}
    for name, path in sorted(modules.items()):
        tree = ast.parse(path.read_bytes(), filename=str(path))
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        imports = list(_imports(tree, package, loadable))
        loaded = {each.module for each in _imports(tree, package, modules.keys())}
        own = {name} if path.name == "__init__.py" else set()
        graph[name] = loaded & modules.keys() - own
        for line, fault in sorted(_faults(tree, name, imports)):
            yield f"{path.relative_to(root)}:{line}: {fault}"
    for name, fault in _cycle_faults(graph):
        yield f"{modules[name].relative_to(root)}:1: {fault}"


def _sources(root: Path) -> Iterator[Path]:
    for package in (*PACKAGES, *BESIDE):
        yield from root.joinpath(*package.split(".")).rglob("*.py")


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _exported(path: Path) -> list[str]:
    """Return the names in `__all__` of a package."""
    for node in ast.parse(path.read_bytes(), filename=str(path)).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=names)):
                return [str(name.value) for name in names if isinstance(name, ast.Constant)]
    return []


def _faults(tree: ast.Module, name: str, imports: Iterable[Import]) -> Iterator[tuple[int, str]]:
    for line, imported in imports:
        for fault in _import_faults(name, imported):
            yield line, f"{name} must not import {imported}: {fault}"
    if _within_any(name, PURE):
        for line, clock in _clocks(tree):
            yield line, f"{name} must not call {clock}(): time is part of the observation"


def _imports(tree: ast.Module, package: str, modules: AbstractSet[str]) -> Iterator[Import]:
    """Give all imports, also inside functions and by `import_module("…")`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, package)
            names = (f"{base}.{alias.name}" for alias in node.names)
            yield from (Import(node.lineno, n if n in modules else base) for n in names)
        elif isinstance(node, ast.Call) and _called(node) in {"import_module", "__import__"}:
            match node.args:
                case [ast.Constant(value=str(module)), *_]:
                    yield Import(node.lineno, module)


def _base(node: ast.ImportFrom, package: str) -> str:
    """Return the module of a `from … import`, with relative dots resolved."""
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


def _import_faults(name: str, imported: str) -> Iterator[str]:
    """Give the reasons why a module must not import another."""
    top = imported.partition(".")[0]
    if (beside := next((room for room in BESIDE if _within(name, room)), None)) is not None:
        if top in OUTSIDE and not _within_any(imported, BESIDE[beside]):
            yield f"{beside} imports only {', '.join(BESIDE[beside])} of what is not installed"
        return
    if top in OUTSIDE:
        yield f"{top}/ is not installed"
    if (package := _hidden_in(name, imported)) is not None:
        yield f"import the name from {package}"
    if top in EXTRAS and not any(fnmatchcase(name, pattern) for pattern in EXTRAS[top]):
        yield f"{top} belongs to an extra, only for {', '.join(EXTRAS[top])}"
    if top in IMPURE_MODULES and _within_any(name, PURE):
        yield "the core does no I/O, reads no clock, uses no randomness"


def _cycle_faults(graph: Mapping[str, AbstractSet[str]]) -> Iterator[tuple[str, str]]:
    """
    Give one fault for each import cycle: its first module, and all of them.

    Imports for the type checker count too.
    """
    for group in _cycles(graph):
        yield min(group), f"import cycle of {', '.join(sorted(group))}"


def _cycles(graph: Mapping[str, AbstractSet[str]]) -> Iterator[frozenset[str]]:
    reachable = {name: _reachable(name, graph) for name in graph}
    found: set[str] = set()
    for name in sorted(graph):
        if name in reachable[name] and name not in found:
            group = frozenset(each for each in reachable[name] if name in reachable[each])
            found |= group
            yield group


def _reachable(name: str, graph: Mapping[str, AbstractSet[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for imported in graph[waiting.pop()]:
            if imported not in found:
                found.add(imported)
                waiting.append(imported)
    return found


def _hidden_in(name: str, imported: str) -> str | None:
    """Return the package in whose place a module below it is imported; None if it is public."""
    for package, public in INTERFACES.items():
        below = _within(imported, package) and imported != package
        if below and not _within(name, package) and not _within_any(imported, public):
            return package
    return None


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _within_any(name: str, packages: tuple[str, ...]) -> bool:
    return any(_within(name, package) for package in packages)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
