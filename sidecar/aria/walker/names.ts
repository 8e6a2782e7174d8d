// The accessible name (accname 1.2), with the deviations that agents are used to.
import { attr, elementsOf, isElement, isText, tagOf, wholeText } from "./native";
import { Cache, NameSource, composedChildren, pseudoText, referenced } from "./dom";
import { explicitRole, roleOf } from "./roles";
import { isHiddenForName } from "./visibility";
import { clean } from "./text";

const fromContent = new Set(("button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox " +
  "menuitemradio option radio row rowheader switch tab tooltip treeitem").split(" "));

const nameless = new Set(("caption code definition deletion emphasis iframe insertion mark none paragraph presentation " +
  "strong subscript superscript term time").split(" "));

/** Longer names are not printed. */
const longest = 900;

/** Content nested deeper than this adds nothing to a name. */
const deepest = 200;

interface Context {
  cache: Cache;
  seen: Set<Element>;
  /** Inside aria-labelledby, where hidden elements speak too. */
  referenced: boolean;
  depth: number;
}

/** The name of el as the snapshot prints it, and where it came from. */
export function nameOf(el: Element, cache: Cache): { name: string; from: NameSource } {
  let found = cache.names.get(el);
  if (!found) {
    found = compute(el, cache);
    if (found.name.length > longest) found = { name: "", from: "none" };
    cache.names.set(el, found);
  }
  return found;
}

function compute(el: Element, cache: Cache): { name: string; from: NameSource } {
  const role = roleOf(el, cache) ?? "";
  if (nameless.has(role) || isHiddenForName(el, cache)) return { name: "", from: "none" };
  if (role === "generic" && explicitRole(el) === "generic") return { name: "", from: "none" };
  const context: Context = { cache, seen: new Set([el]), referenced: false, depth: 0 };

  const labelledBy = referenced(el, "aria-labelledby");
  if (labelledBy.length > 0) {
    const name = clean(labelledBy.map((target) => labelText(target, cache)).join(" "));
    if (name) return { name, from: "attribute" };
  }
  const label = clean(attr(el, "aria-label") ?? "");
  if (label) return { name: label, from: "attribute" };

  const native = nativeName(el, context);
  if (native) return native;
  if (fromContent.has(role) || tagOf(el) === "summary") {
    const name = clean(contentOf(el, context));
    if (name) return { name, from: "content" };
  }
  const title = clean(attr(el, "title") ?? "");
  if (title) return { name: title, from: "attribute" };
  if (tagOf(el) === "input" || tagOf(el) === "textarea") {
    const placeholder = clean(attr(el, "placeholder") ?? "");
    if (placeholder) return { name: placeholder, from: "attribute" };
  }
  return { name: "", from: "none" };
}

function labelText(el: Element, cache: Cache): string {
  const context: Context = { cache, seen: new Set(), referenced: true, depth: 0 };
  return textOf(el, context);
}

/** Names that HTML gives: labels, button values, captions. */
function nativeName(el: Element, context: Context): { name: string; from: NameSource } | null {
  const named = (name: string, from: NameSource = "attribute") => (clean(name) ? { name: clean(name), from } : null);
  switch (tagOf(el)) {
    case "input": {
      const input = el as HTMLInputElement;
      switch (input.type) {
        case "button":
          return named(input.value) ?? fromLabels(input, context);
        case "submit":
          return named(input.value) ?? fromLabels(input, context) ?? named(input.title) ?? named("Submit");
        case "reset":
          return named(input.value) ?? fromLabels(input, context) ?? named(input.title) ?? named("Reset");
        case "image":
          return fromLabels(input, context) ?? named(input.alt) ?? named(input.title) ?? named("Submit");
        case "file":
          return fromLabels(input, context) ?? named(input.title) ?? named("Choose File");
      }
      return fromLabels(input, context);
    }
    case "textarea": case "select": case "meter": case "progress": case "output": case "button":
      return fromLabels(el as HTMLSelectElement, context);
    case "fieldset":
      return firstChildName(el, "legend", context);
    case "figure":
      return firstChildName(el, "figcaption", context);
    case "table": {
      const caption = firstChildName(el, "caption", context);
      return caption ? { name: caption.name, from: "content" } : named(attr(el, "summary") ?? "");
    }
    case "img": case "area":
      return named(attr(el, "alt") ?? "");
    case "svg": {
      const title = Array.from(elementsOf(el)).find((child) => tagOf(child) === "title");
      return title ? named(wholeText(title) ?? "") : null;
    }
    case "optgroup":
      return named((el as HTMLOptGroupElement).label);
    case "option":
      return named(attr(el, "label") ?? "");
  }
  return null;
}

function fromLabels(el: HTMLElement, context: Context): { name: string; from: NameSource } | null {
  const labels = (el as HTMLInputElement).labels;
  if (!labels || labels.length === 0) return null;
  const texts = Array.from(labels).map((label) =>
    clean(textOf(label, { cache: context.cache, seen: new Set([el]), referenced: false, depth: 0 })));
  const name = clean(texts.filter(Boolean).join(" "));
  return name ? { name, from: "attribute" } : null;
}

function firstChildName(el: Element, tag: string, context: Context): { name: string; from: NameSource } | null {
  const child = Array.from(elementsOf(el)).find((c) => tagOf(c) === tag);
  const name = child ? clean(textOf(child, context)) : "";
  return name ? { name, from: "attribute" } : null;
}

/** What el contributes to the name of something that it is part of. */
function textOf(el: Element, context: Context): string {
  if (context.seen.has(el)) return "";
  if (!context.referenced && isHiddenForName(el, context.cache)) return "";
  context.seen.add(el);
  const label = clean(attr(el, "aria-label") ?? "");
  if (label) return label;
  switch (tagOf(el)) {
    case "input": {
      const input = el as HTMLInputElement;
      if (["checkbox", "radio", "hidden", "file", "password"].includes(input.type)) return "";
      if (["submit", "reset", "button", "image"].includes(input.type)) {
        return nativeName(el, context)?.name ?? "";
      }
      return input.value;
    }
    case "textarea":
      return (el as HTMLTextAreaElement).value;
    case "select":
      return Array.from((el as HTMLSelectElement).selectedOptions).map((o) => o.text).join(" ");
    case "img": case "svg": case "area":
      return nativeName(el, context)?.name ?? clean(attr(el, "title") ?? "");
  }
  const text = contentOf(el, context);
  if (clean(text)) return text;
  return attr(el, "title") ?? "";
}

function contentOf(el: Element, context: Context): string {
  if (context.depth >= deepest) return "";
  context.depth++;
  const parts = [pseudoText(el, "::before", context.cache)];
  for (const child of [...composedChildren(el), ...referenced(el, "aria-owns")]) {
    if (isText(child)) {
      parts.push(child.nodeValue ?? "");
    } else if (isElement(child)) {
      const inner = child;
      const text = textOf(inner, context);
      const inline = tagOf(inner) !== "br" && context.cache.style(inner).display === "inline";
      parts.push(inline ? text : " " + text + " ");
    }
  }
  parts.push(pseudoText(el, "::after", context.cache));
  context.depth--;
  return parts.join("");
}
