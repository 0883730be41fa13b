"""What is wrong with a page as it is seen: pixels of its picture, at the places where its panes and texts stand."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

if TYPE_CHECKING:
    from playwright.sync_api import Page

Pixels = NDArray[np.uint32]
"""Height and width of colours, a number each: sorting numbers is many times faster than sorting rows of three."""

PANES: Final = ("header.top", ".pane.l", "section.view", ".stage", ".pane.r", "footer.status")
LEAST_CONTRAST: Final = 3.0
"""Of a text against what is behind it, as WCAG counts it, for texts that are not switched off."""
LEAST_DRAWN: Final = 0.01
"""Part of a stage that has another colour than most of it."""

# Every text that is on top at its place, boxes of panes, and what sticks out. A text counts where its line's middle is
# seen: not what is scrolled away, covered or hidden.
PROBE: Final = """panes => {
  const seen = e => e.checkVisibility({opacityProperty: true, visibilityProperty: true});
  const box = r => [r.left, r.top, r.right, r.bottom];
  const name = e => e.tagName.toLowerCase() + (e.getAttribute('class') ? '.' + e.getAttribute('class') : '');
  const found = {width: innerWidth, height: innerHeight, panes: {}, texts: [], wide: [], cut: []};
  const roots = {};
  for (const pane of panes) {
    const e = document.querySelector(pane);
    if (!e || !seen(e) || e.getBoundingClientRect().width <= 1) continue;
    roots[pane] = e;
    found.panes[pane] = box(e.getBoundingClientRect());
  }
  if (document.documentElement.scrollWidth > innerWidth) found.wide.push('the page');
  const scrolls = e => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX);
  for (const e of document.querySelectorAll('body *')) {
    if (!seen(e)) continue;
    const r = e.getBoundingClientRect();
    if (Object.values(roots).includes(e) && (r.right > innerWidth + 1 || r.left < -1)) found.wide.push(name(e));
    if (e.matches('.pane, .stage, .bar') && !scrolls(e) && e.scrollWidth > e.clientWidth + 1) found.wide.push(name(e));
    const own = e.textContent.trim() && [...e.children].every(c => getComputedStyle(c).display === 'inline');
    const style = getComputedStyle(e);
    const clips = ['hidden', 'clip'].includes(style.overflowX) && style.textOverflow !== 'ellipsis';
    if (own && clips && e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1)
      found.cut.push(name(e) + ': ' + e.textContent.slice(0, 40));
  }
  // what is left of a line inside of everything that cuts it off
  const part = (line, e) => {
    const [right, bottom] = [Math.min(line.right, innerWidth), Math.min(line.bottom, innerHeight)];
    const r = [Math.max(line.left, 0), Math.max(line.top, 0), right, bottom];
    for (; e; e = e.parentElement) {
      if (getComputedStyle(e).overflow === 'visible') continue;
      const c = e.getBoundingClientRect();
      r[0] = Math.max(r[0], c.left), r[1] = Math.max(r[1], c.top);
      r[2] = Math.min(r[2], c.right), r[3] = Math.min(r[3], c.bottom);
    }
    return r;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) {
    const e = node.parentElement;
    if (!node.data.trim() || !seen(e)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const line = range.getClientRects()[0];
    if (!line || line.width < 6 || line.height < 6) continue;
    const r = part(line, e);
    if (r[3] - r[1] < 0.9 * line.height || r[2] - r[0] < Math.min(line.width, 16) - 1) continue;
    const top = document.elementFromPoint((r[0] + r[2]) / 2, (r[1] + r[3]) / 2);
    if (!top || !(e.contains(top) || top.contains(e))) continue;
    const off = !!e.closest(':disabled, [aria-disabled=true], .off');
    const own = Object.keys(roots).filter(pane => roots[pane].contains(e));
    found.texts.push({text: node.data.trim().slice(0, 40), box: r, off, panes: own, at: name(e)});
  }
  return found;
}"""


def pixels_of(png: bytes) -> Pixels:
    """Its colours, red in the upper byte of three."""
    red, green, blue = np.moveaxis(np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), np.uint32), -1, 0)
    found: Pixels = red * 0x10000 + green * 0x100 + blue
    return found


def channels(colours: Pixels) -> NDArray[np.float64]:
    """Red, green and blue of colours, 0 … 255 each, along an axis of their own."""
    return np.stack([(colours >> shift) & 0xFF for shift in (16, 8, 0)], -1).astype(np.float64)


def luminance(colours: Pixels) -> NDArray[np.float64]:
    """How light colours are, 0 … 1, as WCAG has it."""
    part = channels(colours) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    found: NDArray[np.float64] = linear @ np.array([0.2126, 0.7152, 0.0722])
    return found


def contrast(part: Pixels) -> float:
    """Of the colour that stands out most against the one that most of a part has: 1 of a single colour, 21 at most."""
    colours, count = np.unique(part, return_counts=True)
    light = luminance(colours)
    back = float(light[int(np.argmax(count))])
    return max(float((max(one, back) + 0.05) / (min(one, back) + 0.05)) for one in (light.min(), light.max()))


def drawn(part: Pixels) -> float:
    """The part of the pixels, 0 … 1, that have another colour than most."""
    if not part.size:
        return 0.0
    _, count = np.unique(part, return_counts=True)
    return 1 - float(count.max() / count.sum())


def cut_out(picture: Pixels, box: list[float]) -> Pixels:
    left, top, right, bottom = (max(0, round(edge)) for edge in box)
    return picture[top:bottom, left:right]


def still(page: Page, expected: tuple[str, ...]) -> tuple[bytes, dict[str, Any]]:
    """A picture, and what stands where in it: taken while nothing came or went, since parts of a pane arrive late."""
    found: dict[str, Any] = page.evaluate(PROBE, expected)
    for _ in range(50):
        png, before = page.screenshot(), found
        found = page.evaluate(PROBE, expected)
        if found == before:
            return png, found
    raise AssertionError("The page does not come to rest.")


def faults(png: bytes, found: dict[str, Any], expected: tuple[str, ...]) -> list[str]:
    """What is wrong, a sentence each; `expected` are the panes that have to be there, with text in each."""
    picture = pixels_of(png)
    wrong = [f"{name} is wider than its place" for name in found["wide"]]
    wrong += [f"{name} is cut off without an ellipsis" for name in found["cut"]]
    if picture.shape[:2] != (found["height"], found["width"]):
        wrong.append(f"the picture is {picture.shape[1]} x {picture.shape[0]}")
    for pane in expected:
        if pane not in found["panes"]:
            wrong.append(f"{pane} is not to be seen")
            continue
        if drawn(cut_out(picture, found["panes"][pane])) < LEAST_DRAWN:
            wrong.append(f"{pane} is of one colour")
        if pane != ".stage" and not any(pane in text["panes"] for text in found["texts"]):
            wrong.append(f"{pane} has no text")
    for text in found["texts"]:
        part = cut_out(picture, text["box"])
        # a dot between two words is too small to have a pixel of its colour
        says = not text["off"] and any(map(str.isalnum, text["text"]))
        if part.size and says and contrast(part) < LEAST_CONTRAST:
            wrong.append(f"{text['text']!r} in {text['at']} is hard to see: contrast {contrast(part):.1f}")
    return wrong
