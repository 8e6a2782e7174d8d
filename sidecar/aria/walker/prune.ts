// Takes out of the tree what says nothing, from the leaves up.
import { AriaNode } from "./tree";
import { clean } from "./text";

/** Prunes what is below node, and node's own name and texts. */
export function prune(node: AriaNode): void {
  const kept: (AriaNode | string)[] = [];
  for (const child of node.children) {
    if (typeof child === "string") {
      kept.push(child);
      continue;
    }
    prune(child);
    kept.push(...standIns(child));
  }
  node.children = joinTexts(kept);
  dropRepeatedText(node);
  dropRepeatedName(node);
  takeOverText(node);
  dropRepeatingChildren(node);
}

/** What is left of a child: itself, what it wraps, or nothing. */
export function standIns(child: AriaNode): (AriaNode | string)[] {
  if (child.role === "img" && !child.name && child.children.length === 0) {
    return child.pointer ? [child] : [];
  }
  if (!isPlain(child) || child.name) return [child];
  if (child.children.length === 0) return child.pointer ? [child] : [];
  const [only] = child.children;
  if (child.children.length === 1 && typeof only !== "string" && only.ref) return [only];
  return [child];
}

/** A generic that nothing but its content tells anything about. */
function isPlain(node: AriaNode): boolean {
  return node.role === "generic" && !node.ariaHidden && !(node.active && node.ref);
}

function joinTexts(children: (AriaNode | string)[]): (AriaNode | string)[] {
  const joined: (AriaNode | string)[] = [];
  for (const child of children) {
    const last = joined.length - 1;
    if (typeof child === "string" && typeof joined[last] === "string") joined[last] += child;
    else joined.push(child);
  }
  return joined.map((child) => (typeof child === "string" ? clean(child) : child)).filter((child) => child !== "");
}

function dropRepeatedText(node: AriaNode): void {
  if (node.children.length === 1 && node.children[0] === node.name) node.children = [];
}

/** A name made of the content is not told twice, unless the content is nothing but plain texts. */
function dropRepeatedName(node: AriaNode): void {
  if (!node.name || node.from !== "content") return;
  const telling = node.children.filter((child): child is AriaNode => typeof child !== "string" && !isPlainLeaf(child));
  if (telling.length === 0) return;
  const squeezed = (text: string) => text.replace(/\s+/g, "");
  const whole = squeezed(node.children.map(spoken).join(""));
  if (whole !== squeezed(node.name) && !telling.some((child) => clean(spoken(child)) === node.name)) return;
  node.dropped = node.name;
  node.name = "";
}

function isPlainLeaf(node: AriaNode): boolean {
  return node.role === "generic" && node.children.every((child) => typeof child === "string");
}

/** The text that a node contributes to a name. */
function spoken(child: AriaNode | string): string {
  if (typeof child === "string") return child;
  return child.name || child.dropped || child.children.map(spoken).join(" ");
}

function takeOverText(node: AriaNode): void {
  const [only] = node.children;
  if (node.role !== "generic" || node.children.length !== 1 || typeof only === "string" || only === undefined) return;
  if (!isPlain(only) || only.name || only.pointer || only.children.length !== 1) return;
  if (typeof only.children[0] === "string") node.children = [only.children[0]];
}

function dropRepeatingChildren(node: AriaNode): void {
  if (!node.name) return;
  node.children = node.children.filter((child) => {
    if (typeof child === "string" || child.role !== "generic" || child.pointer) return true;
    if (child.name === node.name && child.children.length === 0) return false;
    return !(!child.name && child.children.length === 1 && child.children[0] === node.name);
  });
}
