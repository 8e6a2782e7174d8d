// Refs: short names that an agent uses for elements it saw.
import { isConnected } from "./native";

interface Named {
  number: number;
  role: string;
  name: string;
}

/** The refs of one document. Numbers are shared by all sessions; which of them are good is each session's own. */
export class Refs {
  private last = 0;
  private named = new WeakMap<Element, Named>();
  private latest = new Map<string, Map<string, WeakRef<Element>>>();

  /** Starts a session's next snapshot: refs of the one before are void. */
  begin(session: string, prefix: string): (el: Element, role: string, name: string) => string {
    const refs = new Map<string, WeakRef<Element>>();
    this.latest.set(session, refs);
    return (el, role, name) => {
      let known = this.named.get(el);
      // An element that now says something else is a new one to whoever read its old line.
      if (!known || known.role !== role || known.name !== name) {
        known = { number: ++this.last, role, name };
        this.named.set(el, known);
      }
      const ref = `${prefix}e${known.number}`;
      refs.set(ref, new WeakRef(el));
      return ref;
    };
  }

  /** The element that the session's latest snapshot called ref, if it is still in the document. */
  find(session: string, ref: string): Element | null {
    const el = this.latest.get(session)?.get(ref)?.deref();
    return el && isConnected(el) ? el : null;
  }

  /** What the element was when its ref was given. */
  meaning(el: Element): { role: string; name: string } | null {
    return this.named.get(el) ?? null;
  }

  forget(session: string): void {
    this.latest.delete(session);
  }
}
