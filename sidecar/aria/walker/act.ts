// What has to hold before a person could act on an element, and where they would point.
import { boxOf, boxesOf, elementsOf, isConnected, isRendered, page, scrollTo, shadowOf } from "./native";
import { composedParent } from "./dom";
import { isDisabled } from "./states";
import { preview } from "./locate";

export interface Point {
  x: number;
  y: number;
}

/** Where to act, or why that isn't possible now. */
export type Readiness = Point | { reason: string };

/** Waits for the element to stand still and scrolls it into view; says where to point in the frame's own pixels. */
export async function ready(el: Element, mustBeEnabled: boolean): Promise<Readiness> {
  if (!isConnected(el)) return { reason: "element was detached from the DOM" };
  if (!isVisible(el)) return { reason: "element is not visible" };
  if (mustBeEnabled && isDisabled(el)) return { reason: "element is not enabled" };
  if (!(await isStable(el))) return { reason: "element is not stable" };
  scrollTo(el, true);
  const point = pointOf(el);
  if (!point) return { reason: "element is outside of the viewport" };
  return point;
}

/** Says what else would get the click at the point; null when el itself or something in it would. */
export function obstacle(el: Element, point: Point): string | null {
  const hit = deepest(point);
  if (!hit) return "nothing";
  for (let up: Element | null = hit; up; up = composedParent(up)) if (up === el) return null;
  return preview(outermostApart(hit, el));
}

/** Of what covers el, the outermost element that doesn't hold el too: that is what a person sees in the way. */
function outermostApart(hit: Element, el: Element): Element {
  const holders = new Set<Element>();
  for (let up: Element | null = el; up; up = composedParent(up)) holders.add(up);
  let apart = hit;
  for (let up = composedParent(hit); up && !holders.has(up); up = composedParent(up)) apart = up;
  return apart;
}

function deepest(point: Point): Element | null {
  let hit = page.at(document, point.x, point.y);
  for (let shadow = hit && shadowOf(hit); hit && shadow; shadow = shadowOf(hit)) {
    const inner: Element | null = shadow.elementFromPoint(point.x, point.y);
    if (!inner || inner === hit) break;
    hit = inner;
  }
  return hit;
}

export function isVisible(el: Element): boolean {
  const style = getComputedStyle(el);
  if (style.display === "contents") return Array.from(elementsOf(el)).some(isVisible);
  if (style.visibility !== "visible" || !isRendered(el)) return false;
  const box = boxOf(el);
  return box.width > 0 && box.height > 0;
}

/** The middle of the part of el that is in the viewport: of its first line, where it has several. */
function pointOf(el: Element): Point | null {
  const boxes = boxesOf(el).length > 0 ? Array.from(boxesOf(el))
    : Array.from(elementsOf(el)).flatMap((child) => Array.from(boxesOf(child)));
  for (const box of boxes) {
    const [left, right] = [Math.max(box.left, 0), Math.min(box.right, innerWidth)];
    const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
    if (right - left >= 1 && bottom - top >= 1) return { x: (left + right) / 2, y: (top + bottom) / 2 };
  }
  return null;
}

async function isStable(el: Element): Promise<boolean> {
  const before = boxOf(el);
  await frame();
  await frame();
  const after = boxOf(el);
  return before.x === after.x && before.y === after.y && before.width === after.width && before.height === after.height;
}

/** The next animation frame; a tab that is not on screen may have none, so it doesn't wait for long. */
export function frame(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 60);
    requestAnimationFrame(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Where a point of the frame inside `owner` is in owner's own document. */
export function outward(owner: Element, point: Point): Point {
  const box = boxOf(owner);
  const style = getComputedStyle(owner);
  const html = owner as HTMLElement;
  const scaleX = html.offsetWidth ? box.width / html.offsetWidth : 1;
  const scaleY = html.offsetHeight ? box.height / html.offsetHeight : 1;
  return {
    x: box.left + (owner.clientLeft + parseFloat(style.paddingLeft) + point.x) * scaleX,
    y: box.top + (owner.clientTop + parseFloat(style.paddingTop) + point.y) * scaleY,
  };
}

const watched = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick", "dblclick", "contextmenu"];

/** Lets a coming click reach el and nothing else: what moved under the pointer meanwhile doesn't get it. */
export class ClickGuard {
  private verdict: "none" | "passed" | "blocked" = "none";
  private obstacle = "";
  private readonly listener = (event: Event) => this.judge(event);

  constructor(private readonly el: Element) {
    for (const type of watched) window.addEventListener(type, this.listener, { capture: true, passive: false });
  }

  private judge(event: Event): void {
    if (!event.isTrusted) return;
    if (this.verdict === "none") {
      const path = event.composedPath();
      const first = path[0];
      const target = first instanceof Element ? deepestOf(first, event) : null;
      let inside = path.includes(this.el);
      for (let up = target; up && !inside; up = composedParent(up)) inside = up === this.el;
      this.verdict = inside ? "passed" : "blocked";
      if (!inside) this.obstacle = target ? preview(outermostApart(target, this.el)) : "nothing";
    }
    if (this.verdict === "blocked") {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  }

  /** Ends the watch and says what the click met instead of el; null when it met el. */
  end(): string | null {
    for (const type of watched) window.removeEventListener(type, this.listener, { capture: true });
    return this.verdict === "blocked" ? this.obstacle : null;
  }
}

function deepestOf(first: Element, event: Event): Element {
  const mouse = event as MouseEvent;
  return shadowOf(first) ? deepest({ x: mouse.clientX, y: mouse.clientY }) ?? first : first;
}
