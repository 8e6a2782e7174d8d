// The composed tree: shadow roots and slots resolved, styles read once a walk.
import { attr, nodesOf, page, parentOf, rootOf, shadowOf, slotOf, tagOf } from "./native";

/** What one walk has looked up already. Styles and names are costly, and names ask for them again and again. */
export class Cache {
  private styles = new Map<Element, CSSStyleDeclaration>();
  readonly names = new Map<Element, { name: string; from: NameSource }>();
  readonly roles = new Map<Element, string | null>();
  readonly hidden = new Map<Element, boolean>();

  style(el: Element): CSSStyleDeclaration {
    let style = this.styles.get(el);
    if (!style) {
      style = getComputedStyle(el);
      this.styles.set(el, style);
    }
    return style;
  }
}

/** Where a name came from; only a name made of the element's own content can repeat its descendants. */
export type NameSource = "content" | "attribute" | "none";

/** The nodes that are rendered inside el: a slot's assigned nodes, a host's shadow tree, else the children. */
export function composedChildren(el: Element): Node[] {
  if (tagOf(el) === "slot" && el instanceof HTMLSlotElement) {
    const assigned = el.assignedNodes();
    if (assigned.length > 0) return assigned;
  }
  return Array.from(nodesOf(shadowOf(el) ?? el));
}

/** The element that el is rendered inside. */
export function composedParent(el: Element): Element | null {
  const parent = slotOf(el) ?? parentOf(el);
  if (parent) return parent;
  const root = rootOf(el);
  return root instanceof ShadowRoot ? root.host : null;
}

/** The elements that an attribute names by id, in its order. */
export function referenced(el: Element, attribute: string): Element[] {
  const ids = attr(el, attribute);
  if (!ids) return [];
  const root = rootOf(el);
  const list: Element[] = [];
  for (const id of ids.split(/\s+/)) {
    const target = !id ? null : root instanceof ShadowRoot ? root.getElementById(id)
      : root === document ? page.byId(document, id) : null;
    if (target) list.push(target);
  }
  return list;
}

/** The text of el's ::before or ::after. Images have none; an alternative text after a slash wins. */
export function pseudoText(el: Element, which: "::before" | "::after", cache: Cache): string {
  const style = getComputedStyle(el, which);
  const content = style.content;
  if (content === "none" || content === "normal" || style.display === "none" || style.visibility !== "visible") {
    return "";
  }
  const text = contentText(content);
  if (text === "") return "";
  return style.display === "inline" ? text : " " + text + " ";
}

/** Reads the strings of a computed `content` value. Exported for its tests. */
export function contentText(content: string): string {
  const [main, alternative] = [[] as string[], [] as string[]];
  let into = main;
  let slash = false;
  const token = /"((?:[^"\\]|\\.)*)"|(\/)|[a-z-]+\([^)]*\)|[^\s"/]+/gi;
  for (let m = token.exec(content); m; m = token.exec(content)) {
    if (m[2]) {
      slash = true;
      into = alternative;
    } else if (m[1] !== undefined) {
      into.push(m[1].replace(/\\([0-9a-f]{1,6}) ?/gi, (_, h) => String.fromCodePoint(parseInt(h, 16))).replace(/\\(.)/g, "$1"));
    }
  }
  return (slash ? alternative : main).join("");
}
