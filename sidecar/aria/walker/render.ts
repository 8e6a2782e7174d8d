// The tree as lines.
import { boxOf } from "./native";
import { AriaNode } from "./tree";
import { quoteKey, quoteValue } from "./quote";

export interface RenderOptions {
  /** Levels below this are left out; undefined for all. */
  depth?: number;
  boxes?: boolean;
}

/** A frame's line: what is in the frame belongs below it. */
export interface FrameLine {
  line: number;
  indent: number;
  element: Element;
  entered: boolean;
}

export interface Rendered {
  lines: string[];
  frames: FrameLine[];
}

/** Renders the nodes, the outermost ones at the margin. */
export function render(nodes: (AriaNode | string)[], options: RenderOptions): Rendered {
  const out: Rendered = { lines: [], frames: [] };
  for (const node of nodes) add(node, 0, options, out);
  return out;
}

function add(node: AriaNode | string, level: number, options: RenderOptions, out: Rendered): void {
  const indent = "  ".repeat(level) + "- ";
  if (typeof node === "string") {
    out.lines.push(indent + "text: " + quoteValue(node));
    return;
  }
  const cut = options.depth !== undefined && level >= options.depth;
  const children = cut && !loneText(node) ? [] : node.children;
  const properties = cut ? [] : node.properties;
  const key = indent + quoteKey(keyOf(node, cut && node.children.length > 0, options));
  if (node.role === "iframe") {
    out.frames.push({ line: out.lines.length, indent: level, element: node.element, entered: node.ref !== "" && !cut });
  }
  if (children.length === 0 && properties.length === 0) {
    out.lines.push(key);
  } else if (properties.length === 0 && loneText(node)) {
    out.lines.push(key + ": " + quoteValue(children[0] as string));
  } else {
    out.lines.push(key + ":");
    for (const [name, value] of properties) {
      out.lines.push("  ".repeat(level + 1) + "- " + name + ": " + quoteValue(value));
    }
    for (const child of children) add(child, level + 1, options, out);
  }
}

function loneText(node: AriaNode): boolean {
  return node.children.length === 1 && typeof node.children[0] === "string";
}

function keyOf(node: AriaNode, childrenCut: boolean, options: RenderOptions): string {
  let key = node.role;
  const name = node.name || (childrenCut ? node.dropped : "");
  if (name) key += " " + JSON.stringify(name);
  const { checked, disabled, expanded, invalid, level, pressed, selected } = node.states;
  const flag = (label: string, value: true | string | number | undefined) => {
    if (value !== undefined) key += value === true ? ` [${label}]` : ` [${label}=${value}]`;
  };
  flag("checked", checked);
  flag("disabled", disabled);
  flag("expanded", expanded);
  flag("active", node.active || undefined);
  flag("invalid", invalid);
  flag("level", level);
  flag("pressed", pressed);
  flag("selected", selected);
  flag("aria-hidden", node.ariaHidden || undefined);
  flag("ref", node.ref || undefined);
  flag("cursor", node.ref && node.pointer ? "pointer" : undefined);
  if (options.boxes) {
    const box = boxOf(node.element);
    flag("box", [box.x, box.y, box.width, box.height].map(Math.round).join(","));
  }
  return key;
}
