// States that a line shows in brackets.
import { attr, closest, matches, tagOf } from "./native";
import { composedParent } from "./dom";

const set = (names: string) => new Set(names.split(" "));
const checkable = set("checkbox menuitemcheckbox menuitemradio option radio switch treeitem");
const disableable = set("application button checkbox columnheader combobox grid gridcell group input link listbox menu " +
  "menubar menuitem menuitemcheckbox menuitemradio option radio radiogroup row rowheader scrollbar searchbox separator " +
  "slider spinbutton switch tab tablist textbox toolbar tree treegrid treeitem");
const expandable = set("application button checkbox columnheader combobox gridcell link listbox menuitem row rowheader " +
  "menuitemcheckbox menuitemradio switch tab treeitem");
const leveled = set("heading listitem row treeitem");
const selectable = set("columnheader gridcell option row rowheader tab treeitem");
const invalidatable = set("application checkbox columnheader combobox gridcell listbox radiogroup rowheader searchbox " +
  "slider spinbutton switch textbox tree treegrid");

export interface States {
  checked?: true | "mixed";
  disabled?: true;
  expanded?: true;
  invalid?: true | "grammar" | "spelling";
  level?: number;
  pressed?: true | "mixed";
  selected?: true;
}

/** The states of el that are set and that its role has. */
export function statesOf(el: Element, role: string): States {
  const states: States = {};
  if (checkable.has(role)) {
    const checked = isInput(el, "checkbox", "radio")
      ? ((el as HTMLInputElement).indeterminate ? "mixed" : String((el as HTMLInputElement).checked))
      : attr(el, "aria-checked");
    if (checked === "true") states.checked = true;
    if (checked === "mixed" && role !== "radio" && role !== "menuitemradio") states.checked = "mixed";
  }
  if (disableable.has(role) && isDisabled(el)) states.disabled = true;
  if (expandable.has(role) && attr(el, "aria-expanded") === "true") states.expanded = true;
  if (invalidatable.has(role)) {
    const invalid = (attr(el, "aria-invalid") ?? "").trim().toLowerCase();
    if (invalid === "grammar" || invalid === "spelling") states.invalid = invalid;
    else if (invalid !== "" && invalid !== "false") states.invalid = true;
  }
  if (leveled.has(role)) {
    const level = Number(attr(el, "aria-level"));
    const native = /^h([1-6])$/.exec(tagOf(el));
    if (Number.isInteger(level) && level >= 1) states.level = level;
    else if (native && role === "heading") states.level = Number(native[1]);
  }
  if (role === "button") {
    const pressed = attr(el, "aria-pressed");
    if (pressed === "true") states.pressed = true;
    if (pressed === "mixed") states.pressed = "mixed";
  }
  if (selectable.has(role)) {
    const selected = tagOf(el) === "option" ? (el as HTMLOptionElement).selected : attr(el, "aria-selected") === "true";
    if (selected) states.selected = true;
  }
  return states;
}

/** el can't be used: by its own attribute, its fieldset's, or aria-disabled of it or of what it is in. */
export function isDisabled(el: Element): boolean {
  switch (tagOf(el)) {
    case "button": case "input": case "select": case "textarea":
      if (matches(el, ":disabled")) return true;
      break;
    case "option": case "optgroup":
      if (closest(el, "option[disabled], optgroup[disabled]") !== null) return true;
  }
  for (let up: Element | null = el; up; up = composedParent(up)) {
    const value = attr(up, "aria-disabled")?.toLowerCase();
    if (value === "true") return true;
    if (value === "false") return false;
  }
  return false;
}

export function isInput(el: Element, ...types: string[]): boolean {
  return tagOf(el) === "input" && types.includes((el as HTMLInputElement).type);
}
