// What is on screen, and what assistive technology is told of.
import { attr, boxOf, closest, isElement, isRendered, isText, nodesOf, page, tagOf } from "./native";
import { Cache, composedParent } from "./dom";

/** Display keeps el and everything in it out of the page. */
export function isOut(el: Element, cache: Cache): boolean {
  switch (tagOf(el)) {
    case "script": case "style": case "noscript": case "template": case "head": case "meta": case "link":
      return true;
  }
  const style = cache.style(el);
  if (style.display === "none") return !inSelect(el);
  // Covers what a closed <details> and content-visibility hide. An element without a box of its own can't be asked.
  return style.display !== "contents" && !isRendered(el) && !inSelect(el);
}

/** Options of a closed list have no box, but a person reads them once it opens. */
function inSelect(el: Element): boolean {
  return (tagOf(el) === "option" || tagOf(el) === "optgroup") && closest(el, "select") !== null;
}

/** el or an ancestor says aria-hidden. */
export function ariaHidden(el: Element, cache: Cache): boolean {
  const known = cache.hidden.get(el);
  if (known !== undefined) return known;
  const own = attr(el, "aria-hidden")?.toLowerCase() === "true";
  const parent = own ? null : composedParent(el);
  const hidden = own || (parent !== null && ariaHidden(parent, cache));
  cache.hidden.set(el, hidden);
  return hidden;
}

/** Assistive technology is told of el; isOut was asked before. */
export function isExposed(el: Element, cache: Cache): boolean {
  if (ariaHidden(el, cache)) return false;
  if (tagOf(el) === "option" && inSelect(el)) return true;
  if (tagOf(el) === "optgroup" && inSelect(el)) return false;
  return cache.style(el).visibility === "visible";
}

/** el has a box with an area, and it is not made invisible. */
export function hasVisibleBox(el: Element, cache: Cache): boolean {
  const style = cache.style(el);
  if (style.display === "contents") {
    return Array.from(nodesOf(el)).some((child) =>
      isElement(child) ? hasVisibleBox(child, cache) : isText(child) && textHasBox(child));
  }
  if (style.visibility !== "visible" || style.display === "none" || !isRendered(el)) return false;
  const box = boxOf(el);
  return box.width > 0 && box.height > 0;
}

function textHasBox(text: Text): boolean {
  const range = page.range();
  range.selectNodeContents(text);
  const box = range.getBoundingClientRect();
  return box.width > 0 && box.height > 0;
}

/** A name leaves out what neither is shown nor told. */
export function isHiddenForName(el: Element, cache: Cache): boolean {
  return isOut(el, cache) || ariaHidden(el, cache) ||
    (cache.style(el).visibility !== "visible" && tagOf(el) !== "option");
}
