// The walk: a document's elements as nodes with role, name, states and texts.
import { attr, contains, hasAttr, isElement, isText, nodesOf, page, selectAll, shadowOf, tagOf } from "./native";
import { Cache, NameSource, composedChildren, pseudoText, referenced } from "./dom";
import { nameOf } from "./names";
import { roleOf } from "./roles";
import { States, isInput, statesOf } from "./states";
import { hasVisibleBox, isExposed, isOut } from "./visibility";
import { clean } from "./text";

/** One line of the snapshot, with what is below it. */
export interface AriaNode {
  element: Element;
  role: string;
  name: string;
  from: NameSource;
  /** The name without which the line would say less, once its descendants are cut off by a depth. */
  dropped?: string;
  states: States;
  active: boolean;
  ariaHidden: boolean;
  /** A person can point at it; only such a node gets a ref. */
  reachable: boolean;
  pointer: boolean;
  ref: string;
  properties: [string, string][];
  children: (AriaNode | string)[];
}

/** Hands out the ref of an element. */
export type Numbering = (el: Element, role: string, name: string) => string;

/** A stand-in for a password; its length says nothing. */
export const masked = "••••••••";

/** What is nested deeper is left out, with a mark in its place: a page must not exhaust the walk's stack. */
const deepest = 600;
const leftOut = "… (nested too deeply, left out)";

interface Walk {
  cache: Cache;
  numbering: Numbering;
  /** Elements that aria-owns places elsewhere, and those that stand there already. */
  owned: Set<Element>;
  placed: Set<Element>;
  focused: Element | null;
  depth: number;
}

/** Walks what is below root and returns root's node. */
export function walk(root: Element, cache: Cache, numbering: Numbering): AriaNode | null {
  const owned = new Set<Element>();
  for (const owner of selectAll(root, "[aria-owns]")) {
    for (const el of referenced(owner, "aria-owns")) if (!contains(el, owner)) owned.add(el);
  }
  const focused = page.hasFocus() ? page.active() : null;
  const state: Walk = { cache, numbering, owned, placed: new Set(), focused, depth: 0 };
  if (isOut(root, cache)) return null;
  const node = makeNode(root, roleOf(root, cache) ?? "generic", false, state);
  fill(node, state, node.pointer, node.ariaHidden);
  return node;
}

function visit(node: Node, parent: AriaNode, state: Walk, inPointer: boolean, inHidden: boolean, textVisible: boolean): void {
  if (isText(node)) {
    if (textVisible && parent.role !== "textbox" && node.nodeValue) parent.children.push(node.nodeValue);
    return;
  }
  if (!isElement(node)) return;
  const el = node;
  const { cache } = state;
  if (isOut(el, cache)) return;
  if (state.depth >= deepest) {
    parent.children.push(leftOut);
    return;
  }
  const boxed = hasVisibleBox(el, cache);
  const role = roleOf(el, cache);
  const style = cache.style(el);
  const spaced = style.display !== "inline";
  if (spaced && tagOf(el) !== "br") parent.children.push(" ");
  state.depth++;
  if (!boxed && !isExposed(el, cache)) {
    // It is invisible, but what is inside may be made visible again.
    children(el, state, (child) => visit(child, parent, state, inPointer, inHidden, style.visibility === "visible"));
  } else if (role === null || mergesIntoParent(el, role, style)) {
    parts(el, parent, state, inPointer, inHidden);
  } else {
    const made = makeNode(el, role, inHidden, state);
    parent.children.push(made);
    const pointing = made.ref !== "" && style.cursor === "pointer";
    made.pointer = pointing && !inPointer;
    fill(made, state, inPointer || pointing, inHidden || made.ariaHidden);
  }
  state.depth--;
  if (spaced && tagOf(el) !== "br") parent.children.push(" ");
}

function makeNode(el: Element, role: string, inHidden: boolean, state: Walk): AriaNode {
  const { name, from } = role === "iframe" ? { name: "", from: "none" as NameSource } : nameOf(el, state.cache);
  const style = state.cache.style(el);
  const reachable = style.pointerEvents !== "none" && hasVisibleBox(el, state.cache);
  return {
    element: el, role, name, from, states: statesOf(el, role),
    active: el === state.focused,
    ariaHidden: !inHidden && attr(el, "aria-hidden")?.toLowerCase() === "true",
    reachable, pointer: reachable && style.cursor === "pointer",
    ref: reachable ? state.numbering(el, role, name) : "",
    properties: propertiesOf(el, role, name), children: [],
  };
}

/** Adds what is inside a node's element. */
function fill(node: AriaNode, state: Walk, inPointer: boolean, inHidden: boolean): void {
  const el = node.element;
  const value = valueOf(el);
  if (value !== null) {
    node.children.push(value);
    return;
  }
  if (node.role === "iframe") return;
  parts(el, node, state, inPointer, inHidden);
}

function parts(el: Element, into: AriaNode, state: Walk, inPointer: boolean, inHidden: boolean): void {
  const before = pseudoText(el, "::before", state.cache);
  if (before) into.children.push(before);
  children(el, state, (child) => visit(child, into, state, inPointer, inHidden, true));
  const after = pseudoText(el, "::after", state.cache);
  if (after) into.children.push(after);
}

function children(el: Element, state: Walk, use: (node: Node) => void): void {
  for (const child of composedChildren(el)) {
    if (!(isElement(child) && state.owned.has(child))) use(child);
  }
  if (hasAttr(el, "aria-owns")) {
    for (const child of referenced(el, "aria-owns")) {
      if (!state.owned.has(child) || state.placed.has(child)) continue; // once only, so that circles of owners end
      state.placed.add(child);
      use(child);
    }
  }
}

/** An inline element that holds nothing but one text is part of the text around it. */
function mergesIntoParent(el: Element, role: string, style: CSSStyleDeclaration): boolean {
  if (role !== "generic" || (style.display !== "inline" && style.display !== "contents")) return false;
  const nodes = nodesOf(shadowOf(el) ?? el);
  return nodes.length === 1 && isText(nodes[0]) && !hasAttr(el, "aria-label");
}

function propertiesOf(el: Element, role: string, name: string): [string, string][] {
  const list: [string, string][] = [];
  if (role === "link") {
    const href = attr(el, "href");
    if (href !== null) list.push(["/url", href.replace(/^(data:[^,]*,).*$/s, "$1…")]);
  }
  if (role === "textbox") {
    const placeholder = clean(attr(el, "placeholder") ?? "");
    if (placeholder && placeholder !== name) list.push(["/placeholder", placeholder]);
  }
  return list;
}

/** The text of a field; null for what is no field or whose value is no text. */
function valueOf(el: Element): string | null {
  if (tagOf(el) === "textarea") return (el as HTMLTextAreaElement).value;
  if (tagOf(el) !== "input") return null;
  if (isInput(el, "checkbox", "radio", "file", "button", "submit", "reset", "image")) return null;
  const value = (el as HTMLInputElement).value;
  return isInput(el, "password") && value !== "" ? masked : value;
}
