"""Each script runs in all browsers that docs/display.md names for its page."""

from __future__ import annotations

import re
from collections.abc import Iterator

import tree_sitter_javascript
from tree_sitter import Language, Node, Parser

from shoe_daemon.display.pages import STATIC, Modules
from tests.each_case import each_case

PARSER = Parser(Language(tree_sitter_javascript.language()))
NAMES = sorted(path.name for path in STATIC.glob("*.js"))
BOARD = [address.rpartition("/")[2] for address in Modules(STATIC).addresses("board.js")]
# Younger than Chromium 90, Firefox 90 or Safari 14.
YOUNG = {
    "field_definition",
    "private_property_identifier",
    "class_static_block",
    "import_attribute",
}
YOUNG_CALLS = re.compile(
    r"\.(?:at|findLast|findLastIndex|toSorted|toReversed|toSpliced)\(|\bObject\.(?:hasOwn|groupBy)\(|"
    r"\bstructuredClone\b|\bAbortSignal\.|\.randomUUID\("
)
YOUNG_REGEX = re.compile(r"\(\?<[=!]|/[a-z]*[dv][a-z]*$")
# Younger than Chromium 69.
BOARD_YOUNG = {"optional_chain", "??", "??=", "||=", "&&=", "namespace_export"}
BOARD_YOUNG_CALLS = re.compile(
    r"\.(?:matchAll|replaceAll|replaceChildren|allSettled)\(|\bObject\.fromEntries\(|"
    r"\bqueueMicrotask\b|\bglobalThis\b|\bPromise\.any\b|\bWeakRef\b"
)
FUNCTIONS = {"arrow_function", "function_expression", "function_declaration", "method_definition"}


def nodes(node: Node, *, inside: bool = False) -> Iterator[tuple[Node, bool]]:
    """Yield each node, and whether it is inside a function."""
    yield node, inside
    for child in node.children:
        yield from nodes(child, inside=inside or node.type in FUNCTIONS)


def young_parts(text: str, *, board: bool) -> list[str]:
    """Return what the browsers of a board, or of other pages, do not know."""
    names = YOUNG | BOARD_YOUNG if board else YOUNG
    found = [
        f"line {node.start_point.row + 1}: {node.type}"
        for node, inside in nodes(PARSER.parse(text.encode()).root_node)
        if node.type in names
        or node.is_error
        or node.is_missing
        or (node.type == "await_expression" and not inside)
        or (node.type == "regex" and YOUNG_REGEX.search(said(node)))
        or (node.type == "number" and board and "_" in said(node))
    ]
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    for calls in (YOUNG_CALLS, BOARD_YOUNG_CALLS) if board else (YOUNG_CALLS,):
        found += calls.findall(code)
    return found


def said(node: Node) -> str:
    return (node.text or b"").decode()


@each_case("name", NAMES)
def test_a_script_runs_in_the_browsers_of_its_page(name: str) -> None:
    text = (STATIC / name).read_text(encoding="utf-8")
    assert young_parts(text, board=name in BOARD) == []


@each_case(
    "text",
    [
        "a?.b;",
        "a?.();",
        "a ?? b;",
        "a ??= b;",
        "1_000;",
        "a.replaceAll(b, c);",
        'export * as a from "b";',
    ],
)
def test_only_a_board_refuses_what_is_younger_than_its_browsers(text: str) -> None:
    assert young_parts(text, board=True)
    assert not young_parts(text, board=False)


@each_case(
    "text",
    [
        "class A { b = 1; }",
        "class A { #b() {} }",
        "await a;",
        "/(?<=a)b/;",
        "a.at(1);",
        "a b;",
        "let = ;",
    ],
)
def test_no_page_runs_what_is_younger_than_its_browsers(text: str) -> None:
    assert young_parts(text, board=False)


def test_what_all_browsers_know_passes() -> None:
    text = (
        "export const a = async () => { await b({ ...c }); };\nclass D { get e() { return 1; } }"
    )
    assert not young_parts(text, board=True)
