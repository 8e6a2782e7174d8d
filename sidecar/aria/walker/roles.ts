// The role of an element: WAI-ARIA's, or its tag's (HTML-AAM).
import { attr, closest, elementsOf, hasAttr, matches, parentOf, tagOf } from "./native";
import { Cache, composedParent } from "./dom";
import { hasOwnLabel } from "./labels";

const known = new Set(("alert alertdialog application article banner blockquote button caption cell checkbox code " +
  "columnheader combobox complementary contentinfo definition deletion dialog directory document emphasis feed figure " +
  "form generic grid gridcell group heading img insertion link list listbox listitem log main mark marquee math meter " +
  "menu menubar menuitem menuitemcheckbox menuitemradio navigation none note option paragraph presentation progressbar " +
  "radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton status strong " +
  "subscript superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid " +
  "treeitem").split(" "));

const byTag: Record<string, string> = {
  article: "article", aside: "complementary", blockquote: "blockquote", button: "button", caption: "caption",
  code: "code", dd: "definition", del: "deletion", details: "group", dfn: "term", dialog: "dialog", dt: "term",
  em: "emphasis", fieldset: "group", figure: "figure", h1: "heading", h2: "heading", h3: "heading", h4: "heading",
  h5: "heading", h6: "heading", hr: "separator", html: "document", iframe: "iframe", frame: "iframe", ins: "insertion",
  li: "listitem", main: "main", mark: "mark", math: "math", menu: "list", meter: "meter", nav: "navigation", ol: "list",
  optgroup: "group", option: "option", output: "status", p: "paragraph", progress: "progressbar", search: "search",
  strong: "strong", sub: "subscript", sup: "superscript", svg: "img", table: "table", tbody: "rowgroup",
  textarea: "textbox", tfoot: "rowgroup", thead: "rowgroup", time: "time", tr: "row", ul: "list",
};

const byInputType: Record<string, string> = {
  button: "button", checkbox: "checkbox", file: "button", image: "button", number: "spinbutton", radio: "radio",
  range: "slider", reset: "button", search: "searchbox", submit: "button",
};

const sectioning = "article, aside, main, nav, section, [role=article], [role=complementary], [role=main], " +
  "[role=navigation], [role=region]";

const globalAttributes = ["aria-atomic", "aria-busy", "aria-controls", "aria-current", "aria-describedby",
  "aria-details", "aria-dropeffect", "aria-flowto", "aria-grabbed", "aria-hidden", "aria-keyshortcuts", "aria-label",
  "aria-labelledby", "aria-live", "aria-owns", "aria-relevant", "aria-roledescription"];

/** The role, or null for an element that stands for nothing itself; its children then move up. */
export function roleOf(el: Element, cache: Cache): string | null {
  const cached = cache.roles.get(el);
  if (cached !== undefined) return cached;
  const explicit = explicitRole(el);
  let role: string | null;
  if (explicit === "none" || explicit === "presentation") role = isGlobal(el) ? implicitRole(el, cache) : null;
  else role = explicit ?? implicitRole(el, cache);
  cache.roles.set(el, role);
  return role;
}

/** The first token of the role attribute that is a role. */
export function explicitRole(el: Element): string | undefined {
  const attribute = attr(el, "role");
  if (!attribute) return undefined;
  return attribute.toLowerCase().split(/\s+/).find((token) => known.has(token));
}

/** What is focusable or globally labelled can't be made to vanish. */
function isGlobal(el: Element): boolean {
  return globalAttributes.some((name) => hasAttr(el, name) && attr(el, name) !== "") || isFocusable(el);
}

export function isFocusable(el: Element): boolean {
  if (hasAttr(el, "tabindex")) return true;
  switch (tagOf(el)) {
    case "button": case "select": case "textarea": case "summary": case "iframe":
      return !(el as HTMLButtonElement).disabled;
    case "input":
      return (el as HTMLInputElement).type !== "hidden" && !(el as HTMLInputElement).disabled;
    case "a": case "area":
      return hasAttr(el, "href");
  }
  const editable = attr(el, "contenteditable");
  return editable !== null && editable.toLowerCase() !== "false";
}

function implicitRole(el: Element, cache: Cache): string | null {
  const tag = tagOf(el);
  switch (tag) {
    case "a": case "area":
      return hasAttr(el, "href") ? "link" : "generic";
    case "img":
      return attr(el, "alt") === "" && !attr(el, "title") && !hasOwnLabel(el) && !isGlobal(el)
        ? null : "img";
    case "input":
      return inputRole(el as HTMLInputElement);
    case "select":
      return (el as HTMLSelectElement).multiple || (el as HTMLSelectElement).size > 1 ? "listbox" : "combobox";
    case "header":
      return inSectioning(el) ? "generic" : "banner";
    case "footer":
      return inSectioning(el) ? "generic" : "contentinfo";
    case "section":
      return hasOwnLabel(el) || attr(el, "title") ? "region" : "generic";
    case "form":
      return hasOwnLabel(el) || attr(el, "title") ? "form" : "generic";
    case "td":
      return inGrid(el) ? "gridcell" : "cell";
    case "th":
      return headerRole(el as HTMLTableCellElement);
    case "body":
      return "generic";
  }
  return byTag[tag] ?? "generic";
}

function inputRole(el: HTMLInputElement): string {
  const role = byInputType[el.type];
  if (role && el.type !== "search") return role;
  if (el.list && ["text", "search", "email", "tel", "url", ""].includes(el.type)) return "combobox";
  return role ?? "textbox";
}

function inSectioning(el: Element): boolean {
  for (let up = composedParent(el); up; up = composedParent(up)) {
    if (matches(up, sectioning)) return true;
  }
  return false;
}

function inGrid(el: Element): boolean {
  const table = closest(el, "table");
  const role = table && attr(table, "role");
  return role === "grid" || role === "treegrid";
}

function headerRole(el: HTMLTableCellElement): string {
  if (el.scope === "row" || el.scope === "rowgroup") return "rowheader";
  if (el.scope === "col" || el.scope === "colgroup") return "columnheader";
  const row = parentOf(el);
  const onlyHeaders = !row || Array.from(elementsOf(row)).every((cell) => tagOf(cell) === "th");
  return onlyHeaders || closest(el, "thead") ? "columnheader" : "rowheader";
}
