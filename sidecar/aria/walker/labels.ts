// Labels that an element carries in its own attributes.
import { attr } from "./native";
import { clean } from "./text";
import { referenced } from "./dom";

/** aria-label or aria-labelledby say something. */
export function hasOwnLabel(el: Element): boolean {
  return clean(attr(el, "aria-label") ?? "") !== "" || referenced(el, "aria-labelledby").length > 0;
}
