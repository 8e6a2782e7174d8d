// From an agent's target to an element.
import { attributesOf, elementsOf, page, shadowOf, tagOf, wholeText } from "./native";
import { Cache } from "./dom";
import { nameOf } from "./names";
import { roleOf } from "./roles";
import { Refs } from "./refs";

/** What a target led to: the element, or why there is none. */
export type Located = { element: Element } | { missing: "ref" | "selector" } | { error: string };

const refPattern = /^(f\d+)?e\d+$/;

/** The target is a ref of the session's latest snapshot, or a CSS selector; open shadow trees are searched too. */
export function locate(refs: Refs, session: string, target: string): Located {
  if (refPattern.test(target)) {
    const element = refs.find(session, target);
    return element && sameAsNamed(refs, element) ? { element } : { missing: "ref" };
  }
  let found: Element[];
  try {
    found = queryAll(document, target);
  } catch {
    return { error: `Unexpected token while parsing css selector "${target}". Did you mean to CSS.escape it?` };
  }
  if (found.length === 0) return { missing: "selector" };
  if (found.length === 1) return { element: found[0] };
  const shown = found.slice(0, 10).map((el, i) => `    ${i + 1}) ${preview(el)}`);
  if (found.length > shown.length) shown.push("    ...");
  return { error: `strict mode violation: locator('${target}') resolved to ${found.length} elements:\n${shown.join("\n")}\n` };
}

/** An element that was recycled for something else is no longer the one that the ref named. */
function sameAsNamed(refs: Refs, el: Element): boolean {
  const meaning = refs.meaning(el);
  if (!meaning) return false;
  const cache = new Cache();
  return roleOf(el, cache) === meaning.role && nameOf(el, cache).name === meaning.name;
}

function queryAll(root: Document | ShadowRoot, selector: string): Element[] {
  const select = (what: string) => root instanceof ShadowRoot ? root.querySelectorAll(what) : page.selectAll(root, what);
  const found = Array.from(select(selector));
  for (const el of select("*")) {
    const shadow = shadowOf(el);
    if (shadow) found.push(...queryAll(shadow, selector));
  }
  return found;
}

/** The element's start tag and the beginning of its text, on one line. */
export function preview(el: Element): string {
  const attributes = Array.from(attributesOf(el)).filter((a) => a.name !== "style").map((a) =>
    a.value === "" ? a.name : `${a.name}="${a.value.length > 50 ? a.value.slice(0, 49) + "…" : a.value}"`);
  const tag = [tagOf(el), ...attributes].join(" ").slice(0, 500);
  const text = (elementsOf(el).length > 0 ? "…" : wholeText(el) ?? "").replace(/\s+/g, " ").trim();
  const shown = text.length > 50 ? text.slice(0, 49) + "…" : text;
  return `<${tag}>${shown}</${tagOf(el)}>`;
}

/** Playwright's words for the element, for the line of code that a result shows. */
export function locator(el: Element, target: string): string {
  const cache = new Cache();
  const role = roleOf(el, cache);
  const { name } = nameOf(el, cache);
  if (role && role !== "generic" && name) return `getByRole(${quoted(role)}, { name: ${quoted(name)} })`;
  const text = (wholeText(el) ?? "").replace(/\s+/g, " ").trim();
  if (text && text.length <= 80 && elementsOf(el).length === 0) return `getByText(${quoted(text)})`;
  return refPattern.test(target) ? `locator('aria-ref=${target}')` : `locator(${quoted(target)})`;
}

function quoted(text: string): string {
  return "'" + text.replace(/\\/g, "\\\\").replace(/'/g, "\\'").replace(/\n/g, "\\n") + "'";
}
