"""
How well text can be read: the contrast of WCAG 2.1 between each text and what lies behind it.
"""

from __future__ import annotations

from typing import Any

from tests.browser.chrome import Watched

__all__ = ["poorly_readable"]

AA = 4.5
AA_LARGE = 3.0

# Every text that is visible, its colour, and the grounds behind it, of a gradient all.
# Drawings are judged by eye.
_TEXTS = r"""
() => {
  const colour = (text) => {
    const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
    return [r, g, b, a];
  };
  const over = (top, below) => {
    const mix = (i) => top[i] * top[3] + below[i] * (1 - top[3]);
    return [mix(0), mix(1), mix(2), 1];
  };
  // The colours that may lie behind an element: several where a gradient does.
  const grounds = (element) => {
    let layers = [];
    for (let each = element; each; each = each.parentElement) {
      const style = getComputedStyle(each);
      const gradient = style.backgroundImage.includes("gradient");
      const paints = gradient ? style.backgroundImage.match(/rgba?\([^)]*\)/g)
        : [style.backgroundColor];
      const colours = paints.map(colour).filter((paint) => paint[3] > 0);
      if (colours.length) { layers.push(colours); }
      if (colours.length && colours.every((paint) => paint[3] === 1)) { break; }
    }
    return layers.reverse().reduce((below, tops) => below.flatMap(
      (low) => tops.map((top) => over(top, low))), [[255, 255, 255, 1]]);
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((v) => {
      const s = v / 255;
      return s <= 0.03928 ? s / 12.92 : Math.pow((s + 0.055) / 1.055, 2.4);
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const faded = (element) => {
    let left = 1;
    for (let each = element; each; each = each.parentElement) {
      left *= Number(getComputedStyle(each).opacity);
    }
    return left;
  };
  // What is decoration is hidden from those who listen, too.
  const UNREAD = "svg, script, .unseen, [hidden], [aria-hidden=true]";
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    const box = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    if (!text || element.closest(UNREAD) || box.width < 2
      || box.height < 2 || style.visibility !== "visible" || style.display === "none") {
      continue;
    }
    const size = parseFloat(style.fontSize);
    const [r, g, b, a] = colour(style.color);
    const large = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700;
    grounds(element).forEach((behind) => {
      const ink = over([r, g, b, a * faded(element)], behind);
      found.push({
        text, large, ratio: ratio(ink, behind), ink: style.color,
        behind: behind.map(Math.round).join(" "),
      });
    });
  }
  return found;
}
"""


def poorly_readable(watched: Watched) -> list[dict[str, Any]]:
    """Return the texts on a page that fail AA, with their contrast."""
    texts: list[dict[str, Any]] = watched.page.evaluate(_TEXTS)
    assert texts, "nothing to read"
    return [each for each in texts if each["ratio"] < (AA_LARGE if each["large"] else AA)]
