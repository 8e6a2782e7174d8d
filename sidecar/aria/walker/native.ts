// The DOM's own accessors. A form's fields, and named elements of a document, hide properties of the same name: in a
// form with a field called "children", form.children is that field. So nothing that may be a form or the document is
// asked directly.

type Getter<T, R> = (of: T) => R;

function getter<T, R>(prototype: object, name: string): Getter<T, R> {
  const get = Object.getOwnPropertyDescriptor(prototype, name)?.get;
  if (!get) throw new Error("no such property: " + name);
  return (of) => get.call(of) as R;
}

function method<T, A extends unknown[], R>(prototype: object, name: string): (of: T, ...args: A) => R {
  const f = (prototype as Record<string, (...args: A) => R>)[name];
  return (of, ...args) => f.apply(of, args);
}

const nodeType = getter<Node, number>(Node.prototype, "nodeType");
const childNodes = getter<Node, NodeListOf<ChildNode>>(Node.prototype, "childNodes");

export const isElement = (node: Node): node is Element => nodeType(node) === Node.ELEMENT_NODE;
export const isText = (node: Node): node is Text => nodeType(node) === Node.TEXT_NODE;
export const nodesOf = (node: Node): NodeListOf<ChildNode> => childNodes(node);
export const wholeText = getter<Node, string | null>(Node.prototype, "textContent");
export const isConnected = getter<Node, boolean>(Node.prototype, "isConnected");
export const contains = method<Node, [Node], boolean>(Node.prototype, "contains");
export const rootOf = method<Node, [], Node>(Node.prototype, "getRootNode");
export const parentOf = getter<Node, Element | null>(Node.prototype, "parentElement");

export const tagOf = getter<Element, string>(Element.prototype, "localName");
export const attr = method<Element, [string], string | null>(Element.prototype, "getAttribute");
export const hasAttr = method<Element, [string], boolean>(Element.prototype, "hasAttribute");
export const attributesOf = getter<Element, NamedNodeMap>(Element.prototype, "attributes");
export const closest = method<Element, [string], Element | null>(Element.prototype, "closest");
export const matches = method<Element, [string], boolean>(Element.prototype, "matches");
export const elementsOf = getter<Element, HTMLCollection>(Element.prototype, "children");
export const shadowOf = getter<Element, ShadowRoot | null>(Element.prototype, "shadowRoot");
export const slotOf = getter<Element, HTMLSlotElement | null>(Element.prototype, "assignedSlot");
export const isRendered = method<Element, [], boolean>(Element.prototype, "checkVisibility");
export const boxOf = method<Element, [], DOMRect>(Element.prototype, "getBoundingClientRect");
export const boxesOf = method<Element, [], DOMRectList>(Element.prototype, "getClientRects");
export const selectAll = method<Element, [string], NodeListOf<Element>>(Element.prototype, "querySelectorAll");
export const scrollTo = method<Element, [boolean], void>(Element.prototype, "scrollIntoViewIfNeeded");

export const page = {
  body: () => getter<Document, HTMLElement | null>(Document.prototype, "body")(document),
  root: () => getter<Document, Element | null>(Document.prototype, "documentElement")(document),
  title: () => getter<Document, string>(Document.prototype, "title")(document),
  active: () => getter<Document, Element | null>(Document.prototype, "activeElement")(document),
  hasFocus: () => method<Document, [], boolean>(Document.prototype, "hasFocus")(document),
  range: () => method<Document, [], Range>(Document.prototype, "createRange")(document),
  at: method<Document, [number, number], Element | null>(Document.prototype, "elementFromPoint"),
  byId: method<Document, [string], Element | null>(Document.prototype, "getElementById"),
  selectAll: method<Document, [string], NodeListOf<Element>>(Document.prototype, "querySelectorAll"),
};
