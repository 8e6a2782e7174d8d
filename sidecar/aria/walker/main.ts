// What the sidecar calls in each frame's document. Results are JSON values, except where an element is asked for.
import { page } from "./native";
import { ClickGuard, Point, Readiness, obstacle, outward, ready } from "./act";
import { Cache } from "./dom";
import { Refusal, Typing, fieldOf, refocus } from "./fill";
import { locate, locator, preview } from "./locate";
import { prune, standIns } from "./prune";
import { quiet } from "./quiet";
import { Refs } from "./refs";
import { RenderOptions, render } from "./render";
import { walk } from "./tree";

const refs = new Refs();
const frames = new WeakMap<Element, string>();
const shownFrames = new Map<string, Element[]>();
let guard: ClickGuard | null = null;
let typing: Typing | null = null;

interface SnapshotOptions extends RenderOptions {
  session: string;
  prefix: string;
}

/** One document's part of a snapshot, or of what is in root when that is given. */
function snapshot(options: SnapshotOptions, root: Element | null) {
  const nodes = [];
  let numbered = false;
  const number = refs.begin(options.session, options.prefix);
  const top = root ?? page.body() ?? page.root();
  const node = top && walk(top, new Cache(), (el, role, name) => {
    numbered = true;
    return number(el, role, name);
  });
  if (node) {
    prune(node);
    if (root) nodes.push(node);
    else if (node.children.length > 0) nodes.push(...standIns(node));
  }
  const { lines, frames: places } = render(nodes, options);
  shownFrames.set(options.session, places.map(({ element }) => element));
  return {
    text: lines.join("\n"), numbered, title: page.title(),
    frames: places.map(({ line, indent, element, entered }) =>
      ({ line, indent, entered, frame: frames.get(element) ?? "" })),
  };
}

/** The frames of the session's latest snapshot, in its order; "" for one that wasn't adopted. */
function embedded(session: string): string[] {
  return (shownFrames.get(session) ?? []).map((el) => frames.get(el) ?? "");
}

/** Forgets what a session that ended was shown. */
function forget(session: string): void {
  refs.forget(session);
  shownFrames.delete(session);
}

/** Notes which frame an element embeds. */
function adopt(owner: Element, frame: string): void {
  frames.set(owner, frame);
}

/** Whether the target leads to an element, as {}; else why not. */
function look(session: string, target: string) {
  const found = locate(refs, session, target);
  return "element" in found ? {} : found;
}

/** The element that a target leads to. */
function element(session: string, target: string): Element | null {
  const found = locate(refs, session, target);
  return "element" in found ? found.element : null;
}

function describe(el: Element, target: string) {
  return { preview: preview(el), locator: locator(el, target) };
}

async function aim(el: Element, mustBeEnabled: boolean): Promise<Readiness> {
  const where = await ready(el, mustBeEnabled);
  if ("reason" in where) return where;
  const inTheWay = obstacle(el, where);
  return inTheWay ? { reason: inTheWay + " intercepts pointer events" } : where;
}

/** A point of a frame, seen from the document that embeds it. */
function outwards(owner: Element, point: Point): Readiness {
  const outer = outward(owner, point);
  const inTheWay = obstacle(owner, outer);
  return inTheWay ? { reason: inTheWay + " intercepts pointer events" } : outer;
}

/** Guards the click that comes now, unless something else is at the point: then it says what. */
function beginClick(el: Element, point: Point): string {
  guard?.end();
  guard = null;
  const inTheWay = obstacle(el, point);
  if (inTheWay) return inTheWay;
  guard = new ClickGuard(el);
  return "";
}

/** What the click met instead of the element; "" when it met the element. */
function endClick(): string {
  const met = guard?.end() ?? null;
  guard = null;
  return met ?? "";
}

/** Gets the field that el stands for ready for text: {} when it may come, done when the field has it already. An empty text
 * comes as undefined: the protocol's encoder leaves it out. */
function beginText(el: Element, text = "", slowly = false): Refusal & { done?: boolean } {
  typing = new Typing(fieldOf(el), text, slowly);
  return typing.begin();
}

/** Why the text didn't arrive; {} when it did. */
async function endText(): Promise<Refusal> {
  return typing ? typing.end() : {};
}

/** Gives the field of the text the focus again; false when it doesn't take it. */
function focusText(): boolean {
  return typing !== null && refocus(typing.field);
}

function title(): string {
  return page.title();
}

export {
  adopt, aim, beginClick, beginText, describe, element, embedded, endClick, endText, focusText, forget, look, outwards, quiet,
  snapshot, title,
};
