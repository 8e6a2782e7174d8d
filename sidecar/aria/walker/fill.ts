// Text into a field: what takes text, the moment before the keys come, and a look at what came of them.
import { frame, isVisible } from "./act";
import { attr, closest, hasAttr, isConnected, page, shadowOf, tagOf } from "./native";
import { Cache } from "./dom";
import { roleOf } from "./roles";
import { isDisabled } from "./states";

/** Why a field takes no text: for now, or ever. */
export interface Refusal {
  reason?: string;
  error?: string;
}

const set = (names: string) => new Set(names.split(" "));
/** Roles that may say aria-readonly. */
const readonlyRoles = set("checkbox combobox grid gridcell listbox radiogroup slider spinbutton textbox columnheader " +
  "rowheader searchbox switch treegrid");
const typedInto = set("email number password search tel text url");
const setAtOnce = set("color date datetime-local month range time week");

const noField = "Element is not an <input>, <textarea>, <select> or [contenteditable] and does not have a role allowing [aria-readonly]";

/** The field that el stands for: a label stands for its control. */
export function fieldOf(el: Element): Element {
  if (isNative(el) || isEditor(el)) return el;
  return (closest(el, "label") as HTMLLabelElement | null)?.control ?? el;
}

/** Text on its way into a field: begin, then keys or an insertion, then end. */
export class Typing {
  private readonly before: string;

  constructor(readonly field: Element, private readonly text: string, private readonly slowly: boolean) {
    this.before = valueOf(field);
  }

  /** Gets the field ready; {} when text may come, done when none is needed any more. */
  begin(): Refusal & { done?: boolean } {
    const { field } = this;
    if (!isConnected(field)) return { reason: "element was detached from the DOM" };
    if (!isVisible(field)) return { reason: "element is not visible" };
    if (isDisabled(field)) return { reason: "element is not enabled" };
    const readonly = isReadonly(field);
    if (readonly === null) return { error: noField };
    if (readonly) return { reason: "element is not editable" };
    if (isInput(field) && !typedInto.has(field.type) && !setAtOnce.has(field.type)) {
      return { error: `Input of type "${field.type}" cannot be filled` };
    }
    if (this.slowly) return focus(field, true) ? {} : { reason: "element does not take the focus" };
    if (isInput(field) && setAtOnce.has(field.type)) return this.set(field);
    if (isInput(field) && field.type === "number" && isNaN(Number(this.text.trim()))) {
      return { error: "Cannot type text into input[type=number]" };
    }
    if (!isInput(field) && !isTextarea(field) && !isEditor(field)) {
      return { error: "Element is not an <input>, <textarea> or [contenteditable] element" };
    }
    const most = isInput(field) || isTextarea(field) ? field.maxLength : -1;
    if (most >= 0 && this.text.length > most) {
      return { error: `The text has ${this.text.length} characters, and the field takes ${most} at most` };
    }
    return selectAll(field) ? {} : { reason: "element does not take the focus" };
  }

  /** A date, colour or range takes a whole value at once or none at all. */
  private set(field: HTMLInputElement): Refusal & { done?: boolean } {
    const value = field.type === "color" ? this.text.trim().toLowerCase() : this.text.trim();
    focus(field, false);
    field.value = value;
    if (field.value !== value) {
      field.value = this.before;
      return { error: "Malformed value" };
    }
    tell(field, "input");
    tell(field, "change");
    return { done: true };
  }

  /** Whether the text arrived. A field that took only a part of it gets its former value back. */
  async end(): Promise<Refusal> {
    await frame();
    await frame();
    const { field } = this;
    if (!isConnected(field) || this.arrived()) return {};
    if (this.slowly && focused() !== field) {
      // Fields for a code pass the focus on with each character.
      const next = focused();
      if (next && (isNative(next) || isEditor(next))) return {};
      return { error: "The field lost the focus before the whole text was typed" };
    }
    if (valueOf(field) !== this.before) this.restore();
    return { error: "The field did not take the text; " +
      (valueOf(field) === this.before ? "it has its former value" : "its value is another one now") };
  }

  /** A page may format what is typed; it may not lose a part of it. */
  private arrived(): boolean {
    const { field, text } = this;
    if (!isInput(field) && !isTextarea(field) && !isEditor(field)) return true; // there is no value to look at
    const value = valueOf(field);
    if (!this.slowly && (bare(value) === bare(text) || isInput(field) && field.type === "number" && Number(value) === Number(text))) {
      return true;
    }
    if (value === this.before) return this.slowly && bare(text) === "";
    return isWithin(letters(text), letters(value));
  }

  private restore(): void {
    const { field } = this;
    if (isInput(field) || isTextarea(field)) {
      field.value = this.before;
      tell(field, "input");
    } else {
      document.execCommand("undo");
    }
  }
}

/** Focuses the field again, for a key that belongs to it. */
export function refocus(field: Element): boolean {
  return isConnected(field) && focus(field, false);
}

function isNative(el: Element): boolean {
  return ["input", "textarea", "select"].includes(tagOf(el));
}

function isInput(el: Element): el is HTMLInputElement {
  return tagOf(el) === "input";
}

function isTextarea(el: Element): el is HTMLTextAreaElement {
  return tagOf(el) === "textarea";
}

function isEditor(el: Element): boolean {
  return el instanceof HTMLElement && el.isContentEditable;
}

/** null where el is nothing that could be read-only. */
function isReadonly(el: Element): boolean | null {
  if (isNative(el) && hasAttr(el, "readonly")) return true;
  if (readonlyRoles.has(roleOf(el, new Cache()) ?? "")) return attr(el, "aria-readonly")?.toLowerCase() === "true";
  return isNative(el) || isEditor(el) ? false : null;
}

function valueOf(field: Element): string {
  if (isInput(field) || isTextarea(field)) return field.value;
  return field instanceof HTMLElement ? field.innerText : "";
}

/** The element that gets the keys, in whatever shadow tree it is. */
function focused(): Element | null {
  let active = page.active();
  for (let shadow = active && shadowOf(active); active && shadow?.activeElement; shadow = shadowOf(active)) {
    active = shadow.activeElement;
  }
  return active;
}

/** The field has the keys: itself, or the editor that it is a part of. */
function hasKeys(field: Element): boolean {
  const active = focused();
  return active === field || active !== null && isEditor(field) && isEditor(active) && active.contains(field);
}

/** Gives the field the focus; the caret of one that didn't have it goes to its beginning, where asked. */
function focus(field: Element, caretToBeginning: boolean): boolean {
  if (hasKeys(field)) return true;
  (field as HTMLElement).focus();
  if (!hasKeys(field) && isEditor(field)) hostOf(field).focus();
  if (!hasKeys(field)) return false;
  if (caretToBeginning && (isTextarea(field) || isInput(field) && /^(password|search|tel|text|url)$/.test(field.type))) {
    field.setSelectionRange(0, 0);
  }
  return true;
}

/** The outermost editable element around a part of an editor: that one takes the focus. */
function hostOf(part: Element): HTMLElement {
  let host = part as HTMLElement;
  while (host.parentElement && isEditor(host.parentElement)) host = host.parentElement;
  return host;
}

function selectAll(field: Element): boolean {
  if (!focus(field, false)) return false;
  if (isInput(field) || isTextarea(field)) {
    field.select();
  } else {
    const range = page.range();
    range.selectNodeContents(field);
    const selection = getSelection();
    selection?.removeAllRanges();
    selection?.addRange(range);
  }
  return hasKeys(field);
}

function tell(field: Element, type: string): void {
  field.dispatchEvent(new Event(type, { bubbles: true, composed: true }));
}

const bare = (text: string) => text.replace(/\s+/g, "");
const letters = (text: string) => Array.from(text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ""));

/** Every letter of the part is in the whole, in the same order. */
function isWithin(part: string[], whole: string[]): boolean {
  let at = 0;
  for (const letter of whole) if (letter === part[at]) at++;
  return at === part.length;
}
