var walker = (() => {
  var __defProp = Object.defineProperty;
  var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
  var __getOwnPropNames = Object.getOwnPropertyNames;
  var __hasOwnProp = Object.prototype.hasOwnProperty;
  var __export = (target, all) => {
    for (var name in all)
      __defProp(target, name, { get: all[name], enumerable: true });
  };
  var __copyProps = (to, from, except, desc) => {
    if (from && typeof from === "object" || typeof from === "function") {
      for (let key of __getOwnPropNames(from))
        if (!__hasOwnProp.call(to, key) && key !== except)
          __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
    }
    return to;
  };
  var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);

  // walker/main.ts
  var main_exports = {};
  __export(main_exports, {
    adopt: () => adopt,
    aim: () => aim,
    beginClick: () => beginClick,
    beginText: () => beginText,
    describe: () => describe,
    element: () => element,
    embedded: () => embedded,
    endClick: () => endClick,
    endText: () => endText,
    focusText: () => focusText,
    forget: () => forget,
    look: () => look,
    outwards: () => outwards,
    quiet: () => quiet,
    snapshot: () => snapshot,
    title: () => title
  });

  // walker/native.ts
  function getter(prototype, name) {
    const get = Object.getOwnPropertyDescriptor(prototype, name)?.get;
    if (!get) throw new Error("no such property: " + name);
    return (of) => get.call(of);
  }
  function method(prototype, name) {
    const f = prototype[name];
    return (of, ...args) => f.apply(of, args);
  }
  var nodeType = getter(Node.prototype, "nodeType");
  var childNodes = getter(Node.prototype, "childNodes");
  var isElement = (node) => nodeType(node) === Node.ELEMENT_NODE;
  var isText = (node) => nodeType(node) === Node.TEXT_NODE;
  var nodesOf = (node) => childNodes(node);
  var wholeText = getter(Node.prototype, "textContent");
  var isConnected = getter(Node.prototype, "isConnected");
  var contains = method(Node.prototype, "contains");
  var rootOf = method(Node.prototype, "getRootNode");
  var parentOf = getter(Node.prototype, "parentElement");
  var tagOf = getter(Element.prototype, "localName");
  var attr = method(Element.prototype, "getAttribute");
  var hasAttr = method(Element.prototype, "hasAttribute");
  var attributesOf = getter(Element.prototype, "attributes");
  var closest = method(Element.prototype, "closest");
  var matches = method(Element.prototype, "matches");
  var elementsOf = getter(Element.prototype, "children");
  var shadowOf = getter(Element.prototype, "shadowRoot");
  var slotOf = getter(Element.prototype, "assignedSlot");
  var isRendered = method(Element.prototype, "checkVisibility");
  var boxOf = method(Element.prototype, "getBoundingClientRect");
  var boxesOf = method(Element.prototype, "getClientRects");
  var selectAll = method(Element.prototype, "querySelectorAll");
  var scrollTo = method(Element.prototype, "scrollIntoViewIfNeeded");
  var page = {
    body: () => getter(Document.prototype, "body")(document),
    root: () => getter(Document.prototype, "documentElement")(document),
    title: () => getter(Document.prototype, "title")(document),
    active: () => getter(Document.prototype, "activeElement")(document),
    hasFocus: () => method(Document.prototype, "hasFocus")(document),
    range: () => method(Document.prototype, "createRange")(document),
    at: method(Document.prototype, "elementFromPoint"),
    byId: method(Document.prototype, "getElementById"),
    selectAll: method(Document.prototype, "querySelectorAll")
  };

  // walker/dom.ts
  var Cache = class {
    styles = /* @__PURE__ */ new Map();
    names = /* @__PURE__ */ new Map();
    roles = /* @__PURE__ */ new Map();
    hidden = /* @__PURE__ */ new Map();
    style(el) {
      let style = this.styles.get(el);
      if (!style) {
        style = getComputedStyle(el);
        this.styles.set(el, style);
      }
      return style;
    }
  };
  function composedChildren(el) {
    if (tagOf(el) === "slot" && el instanceof HTMLSlotElement) {
      const assigned = el.assignedNodes();
      if (assigned.length > 0) return assigned;
    }
    return Array.from(nodesOf(shadowOf(el) ?? el));
  }
  function composedParent(el) {
    const parent = slotOf(el) ?? parentOf(el);
    if (parent) return parent;
    const root = rootOf(el);
    return root instanceof ShadowRoot ? root.host : null;
  }
  function referenced(el, attribute) {
    const ids = attr(el, attribute);
    if (!ids) return [];
    const root = rootOf(el);
    const list = [];
    for (const id of ids.split(/\s+/)) {
      const target = !id ? null : root instanceof ShadowRoot ? root.getElementById(id) : root === document ? page.byId(document, id) : null;
      if (target) list.push(target);
    }
    return list;
  }
  function pseudoText(el, which, cache) {
    const style = getComputedStyle(el, which);
    const content = style.content;
    if (content === "none" || content === "normal" || style.display === "none" || style.visibility !== "visible") {
      return "";
    }
    const text = contentText(content);
    if (text === "") return "";
    return style.display === "inline" ? text : " " + text + " ";
  }
  function contentText(content) {
    const [main, alternative] = [[], []];
    let into = main;
    let slash = false;
    const token = /"((?:[^"\\]|\\.)*)"|(\/)|[a-z-]+\([^)]*\)|[^\s"/]+/gi;
    for (let m = token.exec(content); m; m = token.exec(content)) {
      if (m[2]) {
        slash = true;
        into = alternative;
      } else if (m[1] !== void 0) {
        into.push(m[1].replace(/\\([0-9a-f]{1,6}) ?/gi, (_, h) => String.fromCodePoint(parseInt(h, 16))).replace(/\\(.)/g, "$1"));
      }
    }
    return (slash ? alternative : main).join("");
  }

  // walker/states.ts
  var set = (names) => new Set(names.split(" "));
  var checkable = set("checkbox menuitemcheckbox menuitemradio option radio switch treeitem");
  var disableable = set("application button checkbox columnheader combobox grid gridcell group input link listbox menu menubar menuitem menuitemcheckbox menuitemradio option radio radiogroup row rowheader scrollbar searchbox separator slider spinbutton switch tab tablist textbox toolbar tree treegrid treeitem");
  var expandable = set("application button checkbox columnheader combobox gridcell link listbox menuitem row rowheader menuitemcheckbox menuitemradio switch tab treeitem");
  var leveled = set("heading listitem row treeitem");
  var selectable = set("columnheader gridcell option row rowheader tab treeitem");
  var invalidatable = set("application checkbox columnheader combobox gridcell listbox radiogroup rowheader searchbox slider spinbutton switch textbox tree treegrid");
  function statesOf(el, role) {
    const states = {};
    if (checkable.has(role)) {
      const checked = isInput(el, "checkbox", "radio") ? el.indeterminate ? "mixed" : String(el.checked) : attr(el, "aria-checked");
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
      const selected = tagOf(el) === "option" ? el.selected : attr(el, "aria-selected") === "true";
      if (selected) states.selected = true;
    }
    return states;
  }
  function isDisabled(el) {
    switch (tagOf(el)) {
      case "button":
      case "input":
      case "select":
      case "textarea":
        if (matches(el, ":disabled")) return true;
        break;
      case "option":
      case "optgroup":
        if (closest(el, "option[disabled], optgroup[disabled]") !== null) return true;
    }
    for (let up = el; up; up = composedParent(up)) {
      const value = attr(up, "aria-disabled")?.toLowerCase();
      if (value === "true") return true;
      if (value === "false") return false;
    }
    return false;
  }
  function isInput(el, ...types) {
    return tagOf(el) === "input" && types.includes(el.type);
  }

  // walker/text.ts
  function clean(text) {
    return text.replace(/[\u200b\u00ad]/g, "").replace(/\s+/g, " ").trim();
  }

  // walker/labels.ts
  function hasOwnLabel(el) {
    return clean(attr(el, "aria-label") ?? "") !== "" || referenced(el, "aria-labelledby").length > 0;
  }

  // walker/roles.ts
  var known = new Set("alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox complementary contentinfo definition deletion dialog directory document emphasis feed figure form generic grid gridcell group heading img insertion link list listbox listitem log main mark marquee math meter menu menubar menuitem menuitemcheckbox menuitemradio navigation none note option paragraph presentation progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton status strong subscript superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem".split(" "));
  var byTag = {
    article: "article",
    aside: "complementary",
    blockquote: "blockquote",
    button: "button",
    caption: "caption",
    code: "code",
    dd: "definition",
    del: "deletion",
    details: "group",
    dfn: "term",
    dialog: "dialog",
    dt: "term",
    em: "emphasis",
    fieldset: "group",
    figure: "figure",
    h1: "heading",
    h2: "heading",
    h3: "heading",
    h4: "heading",
    h5: "heading",
    h6: "heading",
    hr: "separator",
    html: "document",
    iframe: "iframe",
    frame: "iframe",
    ins: "insertion",
    li: "listitem",
    main: "main",
    mark: "mark",
    math: "math",
    menu: "list",
    meter: "meter",
    nav: "navigation",
    ol: "list",
    optgroup: "group",
    option: "option",
    output: "status",
    p: "paragraph",
    progress: "progressbar",
    search: "search",
    strong: "strong",
    sub: "subscript",
    sup: "superscript",
    svg: "img",
    table: "table",
    tbody: "rowgroup",
    textarea: "textbox",
    tfoot: "rowgroup",
    thead: "rowgroup",
    time: "time",
    tr: "row",
    ul: "list"
  };
  var byInputType = {
    button: "button",
    checkbox: "checkbox",
    file: "button",
    image: "button",
    number: "spinbutton",
    radio: "radio",
    range: "slider",
    reset: "button",
    search: "searchbox",
    submit: "button"
  };
  var sectioning = "article, aside, main, nav, section, [role=article], [role=complementary], [role=main], [role=navigation], [role=region]";
  var globalAttributes = [
    "aria-atomic",
    "aria-busy",
    "aria-controls",
    "aria-current",
    "aria-describedby",
    "aria-details",
    "aria-dropeffect",
    "aria-flowto",
    "aria-grabbed",
    "aria-hidden",
    "aria-keyshortcuts",
    "aria-label",
    "aria-labelledby",
    "aria-live",
    "aria-owns",
    "aria-relevant",
    "aria-roledescription"
  ];
  function roleOf(el, cache) {
    const cached = cache.roles.get(el);
    if (cached !== void 0) return cached;
    const explicit = explicitRole(el);
    let role;
    if (explicit === "none" || explicit === "presentation") role = isGlobal(el) ? implicitRole(el, cache) : null;
    else role = explicit ?? implicitRole(el, cache);
    cache.roles.set(el, role);
    return role;
  }
  function explicitRole(el) {
    const attribute = attr(el, "role");
    if (!attribute) return void 0;
    return attribute.toLowerCase().split(/\s+/).find((token) => known.has(token));
  }
  function isGlobal(el) {
    return globalAttributes.some((name) => hasAttr(el, name) && attr(el, name) !== "") || isFocusable(el);
  }
  function isFocusable(el) {
    if (hasAttr(el, "tabindex")) return true;
    switch (tagOf(el)) {
      case "button":
      case "select":
      case "textarea":
      case "summary":
      case "iframe":
        return !el.disabled;
      case "input":
        return el.type !== "hidden" && !el.disabled;
      case "a":
      case "area":
        return hasAttr(el, "href");
    }
    const editable = attr(el, "contenteditable");
    return editable !== null && editable.toLowerCase() !== "false";
  }
  function implicitRole(el, cache) {
    const tag = tagOf(el);
    switch (tag) {
      case "a":
      case "area":
        return hasAttr(el, "href") ? "link" : "generic";
      case "img":
        return attr(el, "alt") === "" && !attr(el, "title") && !hasOwnLabel(el) && !isGlobal(el) ? null : "img";
      case "input":
        return inputRole(el);
      case "select":
        return el.multiple || el.size > 1 ? "listbox" : "combobox";
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
        return headerRole(el);
      case "body":
        return "generic";
    }
    return byTag[tag] ?? "generic";
  }
  function inputRole(el) {
    const role = byInputType[el.type];
    if (role && el.type !== "search") return role;
    if (el.list && ["text", "search", "email", "tel", "url", ""].includes(el.type)) return "combobox";
    return role ?? "textbox";
  }
  function inSectioning(el) {
    for (let up = composedParent(el); up; up = composedParent(up)) {
      if (matches(up, sectioning)) return true;
    }
    return false;
  }
  function inGrid(el) {
    const table = closest(el, "table");
    const role = table && attr(table, "role");
    return role === "grid" || role === "treegrid";
  }
  function headerRole(el) {
    if (el.scope === "row" || el.scope === "rowgroup") return "rowheader";
    if (el.scope === "col" || el.scope === "colgroup") return "columnheader";
    const row = parentOf(el);
    const onlyHeaders = !row || Array.from(elementsOf(row)).every((cell) => tagOf(cell) === "th");
    return onlyHeaders || closest(el, "thead") ? "columnheader" : "rowheader";
  }

  // walker/visibility.ts
  function isOut(el, cache) {
    switch (tagOf(el)) {
      case "script":
      case "style":
      case "noscript":
      case "template":
      case "head":
      case "meta":
      case "link":
        return true;
    }
    const style = cache.style(el);
    if (style.display === "none") return !inSelect(el);
    return style.display !== "contents" && !isRendered(el) && !inSelect(el);
  }
  function inSelect(el) {
    return (tagOf(el) === "option" || tagOf(el) === "optgroup") && closest(el, "select") !== null;
  }
  function ariaHidden(el, cache) {
    const known2 = cache.hidden.get(el);
    if (known2 !== void 0) return known2;
    const own = attr(el, "aria-hidden")?.toLowerCase() === "true";
    const parent = own ? null : composedParent(el);
    const hidden = own || parent !== null && ariaHidden(parent, cache);
    cache.hidden.set(el, hidden);
    return hidden;
  }
  function isExposed(el, cache) {
    if (ariaHidden(el, cache)) return false;
    if (tagOf(el) === "option" && inSelect(el)) return true;
    if (tagOf(el) === "optgroup" && inSelect(el)) return false;
    return cache.style(el).visibility === "visible";
  }
  function hasVisibleBox(el, cache) {
    const style = cache.style(el);
    if (style.display === "contents") {
      return Array.from(nodesOf(el)).some((child) => isElement(child) ? hasVisibleBox(child, cache) : isText(child) && textHasBox(child));
    }
    if (style.visibility !== "visible" || style.display === "none" || !isRendered(el)) return false;
    const box = boxOf(el);
    return box.width > 0 && box.height > 0;
  }
  function textHasBox(text) {
    const range = page.range();
    range.selectNodeContents(text);
    const box = range.getBoundingClientRect();
    return box.width > 0 && box.height > 0;
  }
  function isHiddenForName(el, cache) {
    return isOut(el, cache) || ariaHidden(el, cache) || cache.style(el).visibility !== "visible" && tagOf(el) !== "option";
  }

  // walker/names.ts
  var fromContent = new Set("button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio row rowheader switch tab tooltip treeitem".split(" "));
  var nameless = new Set("caption code definition deletion emphasis iframe insertion mark none paragraph presentation strong subscript superscript term time".split(" "));
  var longest = 900;
  var deepest = 200;
  function nameOf(el, cache) {
    let found = cache.names.get(el);
    if (!found) {
      found = compute(el, cache);
      if (found.name.length > longest) found = { name: "", from: "none" };
      cache.names.set(el, found);
    }
    return found;
  }
  function compute(el, cache) {
    const role = roleOf(el, cache) ?? "";
    if (nameless.has(role) || isHiddenForName(el, cache)) return { name: "", from: "none" };
    if (role === "generic" && explicitRole(el) === "generic") return { name: "", from: "none" };
    const context = { cache, seen: /* @__PURE__ */ new Set([el]), referenced: false, depth: 0 };
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
    const title2 = clean(attr(el, "title") ?? "");
    if (title2) return { name: title2, from: "attribute" };
    if (tagOf(el) === "input" || tagOf(el) === "textarea") {
      const placeholder = clean(attr(el, "placeholder") ?? "");
      if (placeholder) return { name: placeholder, from: "attribute" };
    }
    return { name: "", from: "none" };
  }
  function labelText(el, cache) {
    const context = { cache, seen: /* @__PURE__ */ new Set(), referenced: true, depth: 0 };
    return textOf(el, context);
  }
  function nativeName(el, context) {
    const named = (name, from = "attribute") => clean(name) ? { name: clean(name), from } : null;
    switch (tagOf(el)) {
      case "input": {
        const input = el;
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
      case "textarea":
      case "select":
      case "meter":
      case "progress":
      case "output":
      case "button":
        return fromLabels(el, context);
      case "fieldset":
        return firstChildName(el, "legend", context);
      case "figure":
        return firstChildName(el, "figcaption", context);
      case "table": {
        const caption = firstChildName(el, "caption", context);
        return caption ? { name: caption.name, from: "content" } : named(attr(el, "summary") ?? "");
      }
      case "img":
      case "area":
        return named(attr(el, "alt") ?? "");
      case "svg": {
        const title2 = Array.from(elementsOf(el)).find((child) => tagOf(child) === "title");
        return title2 ? named(wholeText(title2) ?? "") : null;
      }
      case "optgroup":
        return named(el.label);
      case "option":
        return named(attr(el, "label") ?? "");
    }
    return null;
  }
  function fromLabels(el, context) {
    const labels = el.labels;
    if (!labels || labels.length === 0) return null;
    const texts = Array.from(labels).map((label) => clean(textOf(label, { cache: context.cache, seen: /* @__PURE__ */ new Set([el]), referenced: false, depth: 0 })));
    const name = clean(texts.filter(Boolean).join(" "));
    return name ? { name, from: "attribute" } : null;
  }
  function firstChildName(el, tag, context) {
    const child = Array.from(elementsOf(el)).find((c) => tagOf(c) === tag);
    const name = child ? clean(textOf(child, context)) : "";
    return name ? { name, from: "attribute" } : null;
  }
  function textOf(el, context) {
    if (context.seen.has(el)) return "";
    if (!context.referenced && isHiddenForName(el, context.cache)) return "";
    context.seen.add(el);
    const label = clean(attr(el, "aria-label") ?? "");
    if (label) return label;
    switch (tagOf(el)) {
      case "input": {
        const input = el;
        if (["checkbox", "radio", "hidden", "file", "password"].includes(input.type)) return "";
        if (["submit", "reset", "button", "image"].includes(input.type)) {
          return nativeName(el, context)?.name ?? "";
        }
        return input.value;
      }
      case "textarea":
        return el.value;
      case "select":
        return Array.from(el.selectedOptions).map((o) => o.text).join(" ");
      case "img":
      case "svg":
      case "area":
        return nativeName(el, context)?.name ?? clean(attr(el, "title") ?? "");
    }
    const text = contentOf(el, context);
    if (clean(text)) return text;
    return attr(el, "title") ?? "";
  }
  function contentOf(el, context) {
    if (context.depth >= deepest) return "";
    context.depth++;
    const parts2 = [pseudoText(el, "::before", context.cache)];
    for (const child of [...composedChildren(el), ...referenced(el, "aria-owns")]) {
      if (isText(child)) {
        parts2.push(child.nodeValue ?? "");
      } else if (isElement(child)) {
        const inner = child;
        const text = textOf(inner, context);
        const inline = tagOf(inner) !== "br" && context.cache.style(inner).display === "inline";
        parts2.push(inline ? text : " " + text + " ");
      }
    }
    parts2.push(pseudoText(el, "::after", context.cache));
    context.depth--;
    return parts2.join("");
  }

  // walker/locate.ts
  var refPattern = /^(f\d+)?e\d+$/;
  function locate(refs2, session, target) {
    if (refPattern.test(target)) {
      const element2 = refs2.find(session, target);
      return element2 && sameAsNamed(refs2, element2) ? { element: element2 } : { missing: "ref" };
    }
    let found;
    try {
      found = queryAll(document, target);
    } catch {
      return { error: `Unexpected token while parsing css selector "${target}". Did you mean to CSS.escape it?` };
    }
    if (found.length === 0) return { missing: "selector" };
    if (found.length === 1) return { element: found[0] };
    const shown = found.slice(0, 10).map((el, i) => `    ${i + 1}) ${preview(el)}`);
    if (found.length > shown.length) shown.push("    ...");
    return { error: `strict mode violation: locator('${target}') resolved to ${found.length} elements:
${shown.join("\n")}
` };
  }
  function sameAsNamed(refs2, el) {
    const meaning = refs2.meaning(el);
    if (!meaning) return false;
    const cache = new Cache();
    return roleOf(el, cache) === meaning.role && nameOf(el, cache).name === meaning.name;
  }
  function queryAll(root, selector) {
    const select = (what) => root instanceof ShadowRoot ? root.querySelectorAll(what) : page.selectAll(root, what);
    const found = Array.from(select(selector));
    for (const el of select("*")) {
      const shadow = shadowOf(el);
      if (shadow) found.push(...queryAll(shadow, selector));
    }
    return found;
  }
  function preview(el) {
    const attributes = Array.from(attributesOf(el)).filter((a) => a.name !== "style").map((a) => a.value === "" ? a.name : `${a.name}="${a.value.length > 50 ? a.value.slice(0, 49) + "…" : a.value}"`);
    const tag = [tagOf(el), ...attributes].join(" ").slice(0, 500);
    const text = (elementsOf(el).length > 0 ? "…" : wholeText(el) ?? "").replace(/\s+/g, " ").trim();
    const shown = text.length > 50 ? text.slice(0, 49) + "…" : text;
    return `<${tag}>${shown}</${tagOf(el)}>`;
  }
  function locator(el, target) {
    const cache = new Cache();
    const role = roleOf(el, cache);
    const { name } = nameOf(el, cache);
    if (role && role !== "generic" && name) return `getByRole(${quoted(role)}, { name: ${quoted(name)} })`;
    const text = (wholeText(el) ?? "").replace(/\s+/g, " ").trim();
    if (text && text.length <= 80 && elementsOf(el).length === 0) return `getByText(${quoted(text)})`;
    return refPattern.test(target) ? `locator('aria-ref=${target}')` : `locator(${quoted(target)})`;
  }
  function quoted(text) {
    return "'" + text.replace(/\\/g, "\\\\").replace(/'/g, "\\'").replace(/\n/g, "\\n") + "'";
  }

  // walker/act.ts
  async function ready(el, mustBeEnabled) {
    if (!isConnected(el)) return { reason: "element was detached from the DOM" };
    if (!isVisible(el)) return { reason: "element is not visible" };
    if (mustBeEnabled && isDisabled(el)) return { reason: "element is not enabled" };
    if (!await isStable(el)) return { reason: "element is not stable" };
    scrollTo(el, true);
    const point = pointOf(el);
    if (!point) return { reason: "element is outside of the viewport" };
    return point;
  }
  function obstacle(el, point) {
    const hit = deepest2(point);
    if (!hit) return "nothing";
    for (let up = hit; up; up = composedParent(up)) if (up === el) return null;
    return preview(outermostApart(hit, el));
  }
  function outermostApart(hit, el) {
    const holders = /* @__PURE__ */ new Set();
    for (let up = el; up; up = composedParent(up)) holders.add(up);
    let apart = hit;
    for (let up = composedParent(hit); up && !holders.has(up); up = composedParent(up)) apart = up;
    return apart;
  }
  function deepest2(point) {
    let hit = page.at(document, point.x, point.y);
    for (let shadow = hit && shadowOf(hit); hit && shadow; shadow = shadowOf(hit)) {
      const inner = shadow.elementFromPoint(point.x, point.y);
      if (!inner || inner === hit) break;
      hit = inner;
    }
    return hit;
  }
  function isVisible(el) {
    const style = getComputedStyle(el);
    if (style.display === "contents") return Array.from(elementsOf(el)).some(isVisible);
    if (style.visibility !== "visible" || !isRendered(el)) return false;
    const box = boxOf(el);
    return box.width > 0 && box.height > 0;
  }
  function pointOf(el) {
    const boxes = boxesOf(el).length > 0 ? Array.from(boxesOf(el)) : Array.from(elementsOf(el)).flatMap((child) => Array.from(boxesOf(child)));
    for (const box of boxes) {
      const [left, right] = [Math.max(box.left, 0), Math.min(box.right, innerWidth)];
      const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
      if (right - left >= 1 && bottom - top >= 1) return { x: (left + right) / 2, y: (top + bottom) / 2 };
    }
    return null;
  }
  async function isStable(el) {
    const before = boxOf(el);
    await frame();
    await frame();
    const after = boxOf(el);
    return before.x === after.x && before.y === after.y && before.width === after.width && before.height === after.height;
  }
  function frame() {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, 60);
      requestAnimationFrame(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
  function outward(owner, point) {
    const box = boxOf(owner);
    const style = getComputedStyle(owner);
    const html = owner;
    const scaleX = html.offsetWidth ? box.width / html.offsetWidth : 1;
    const scaleY = html.offsetHeight ? box.height / html.offsetHeight : 1;
    return {
      x: box.left + (owner.clientLeft + parseFloat(style.paddingLeft) + point.x) * scaleX,
      y: box.top + (owner.clientTop + parseFloat(style.paddingTop) + point.y) * scaleY
    };
  }
  var watched = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick", "dblclick", "contextmenu"];
  var ClickGuard = class {
    constructor(el) {
      this.el = el;
      for (const type of watched) window.addEventListener(type, this.listener, { capture: true, passive: false });
    }
    el;
    verdict = "none";
    obstacle = "";
    listener = (event) => this.judge(event);
    judge(event) {
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
    end() {
      for (const type of watched) window.removeEventListener(type, this.listener, { capture: true });
      return this.verdict === "blocked" ? this.obstacle : null;
    }
  };
  function deepestOf(first, event) {
    const mouse = event;
    return shadowOf(first) ? deepest2({ x: mouse.clientX, y: mouse.clientY }) ?? first : first;
  }

  // walker/fill.ts
  var set2 = (names) => new Set(names.split(" "));
  var readonlyRoles = set2("checkbox combobox grid gridcell listbox radiogroup slider spinbutton textbox columnheader rowheader searchbox switch treegrid");
  var typedInto = set2("email number password search tel text url");
  var setAtOnce = set2("color date datetime-local month range time week");
  var noField = "Element is not an <input>, <textarea>, <select> or [contenteditable] and does not have a role allowing [aria-readonly]";
  function fieldOf(el) {
    if (isNative(el) || isEditor(el)) return el;
    return closest(el, "label")?.control ?? el;
  }
  var Typing = class {
    constructor(field, text, slowly) {
      this.field = field;
      this.text = text;
      this.slowly = slowly;
      this.before = valueOf(field);
    }
    field;
    text;
    slowly;
    before;
    /** Gets the field ready; {} when text may come, done when none is needed any more. */
    begin() {
      const { field } = this;
      if (!isConnected(field)) return { reason: "element was detached from the DOM" };
      if (!isVisible(field)) return { reason: "element is not visible" };
      if (isDisabled(field)) return { reason: "element is not enabled" };
      const readonly = isReadonly(field);
      if (readonly === null) return { error: noField };
      if (readonly) return { reason: "element is not editable" };
      if (isInput2(field) && !typedInto.has(field.type) && !setAtOnce.has(field.type)) {
        return { error: `Input of type "${field.type}" cannot be filled` };
      }
      if (this.slowly) return focus(field, true) ? {} : { reason: "element does not take the focus" };
      if (isInput2(field) && setAtOnce.has(field.type)) return this.set(field);
      if (isInput2(field) && field.type === "number" && isNaN(Number(this.text.trim()))) {
        return { error: "Cannot type text into input[type=number]" };
      }
      if (!isInput2(field) && !isTextarea(field) && !isEditor(field)) {
        return { error: "Element is not an <input>, <textarea> or [contenteditable] element" };
      }
      const most = isInput2(field) || isTextarea(field) ? field.maxLength : -1;
      if (most >= 0 && this.text.length > most) {
        return { error: `The text has ${this.text.length} characters, and the field takes ${most} at most` };
      }
      return selectAll2(field) ? {} : { reason: "element does not take the focus" };
    }
    /** A date, colour or range takes a whole value at once or none at all. */
    set(field) {
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
    async end() {
      await frame();
      await frame();
      const { field } = this;
      if (!isConnected(field) || this.arrived()) return {};
      if (this.slowly && focused() !== field) {
        const next = focused();
        if (next && (isNative(next) || isEditor(next))) return {};
        return { error: "The field lost the focus before the whole text was typed" };
      }
      if (valueOf(field) !== this.before) this.restore();
      return { error: "The field did not take the text; " + (valueOf(field) === this.before ? "it has its former value" : "its value is another one now") };
    }
    /** A page may format what is typed; it may not lose a part of it. */
    arrived() {
      const { field, text } = this;
      if (!isInput2(field) && !isTextarea(field) && !isEditor(field)) return true;
      const value = valueOf(field);
      if (!this.slowly && (bare(value) === bare(text) || isInput2(field) && field.type === "number" && Number(value) === Number(text))) {
        return true;
      }
      if (value === this.before) return this.slowly && bare(text) === "";
      return isWithin(letters(text), letters(value));
    }
    restore() {
      const { field } = this;
      if (isInput2(field) || isTextarea(field)) {
        field.value = this.before;
        tell(field, "input");
      } else {
        document.execCommand("undo");
      }
    }
  };
  function refocus(field) {
    return isConnected(field) && focus(field, false);
  }
  function isNative(el) {
    return ["input", "textarea", "select"].includes(tagOf(el));
  }
  function isInput2(el) {
    return tagOf(el) === "input";
  }
  function isTextarea(el) {
    return tagOf(el) === "textarea";
  }
  function isEditor(el) {
    return el instanceof HTMLElement && el.isContentEditable;
  }
  function isReadonly(el) {
    if (isNative(el) && hasAttr(el, "readonly")) return true;
    if (readonlyRoles.has(roleOf(el, new Cache()) ?? "")) return attr(el, "aria-readonly")?.toLowerCase() === "true";
    return isNative(el) || isEditor(el) ? false : null;
  }
  function valueOf(field) {
    if (isInput2(field) || isTextarea(field)) return field.value;
    return field instanceof HTMLElement ? field.innerText : "";
  }
  function focused() {
    let active = page.active();
    for (let shadow = active && shadowOf(active); active && shadow?.activeElement; shadow = shadowOf(active)) {
      active = shadow.activeElement;
    }
    return active;
  }
  function hasKeys(field) {
    const active = focused();
    return active === field || active !== null && isEditor(field) && isEditor(active) && active.contains(field);
  }
  function focus(field, caretToBeginning) {
    if (hasKeys(field)) return true;
    field.focus();
    if (!hasKeys(field) && isEditor(field)) hostOf(field).focus();
    if (!hasKeys(field)) return false;
    if (caretToBeginning && (isTextarea(field) || isInput2(field) && /^(password|search|tel|text|url)$/.test(field.type))) {
      field.setSelectionRange(0, 0);
    }
    return true;
  }
  function hostOf(part) {
    let host = part;
    while (host.parentElement && isEditor(host.parentElement)) host = host.parentElement;
    return host;
  }
  function selectAll2(field) {
    if (!focus(field, false)) return false;
    if (isInput2(field) || isTextarea(field)) {
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
  function tell(field, type) {
    field.dispatchEvent(new Event(type, { bubbles: true, composed: true }));
  }
  var bare = (text) => text.replace(/\s+/g, "");
  var letters = (text) => Array.from(text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ""));
  function isWithin(part, whole) {
    let at = 0;
    for (const letter of whole) if (letter === part[at]) at++;
    return at === part.length;
  }

  // walker/prune.ts
  function prune(node) {
    const kept = [];
    for (const child of node.children) {
      if (typeof child === "string") {
        kept.push(child);
        continue;
      }
      prune(child);
      kept.push(...standIns(child));
    }
    node.children = joinTexts(kept);
    dropRepeatedText(node);
    dropRepeatedName(node);
    takeOverText(node);
    dropRepeatingChildren(node);
  }
  function standIns(child) {
    if (child.role === "img" && !child.name && child.children.length === 0) {
      return child.pointer ? [child] : [];
    }
    if (!isPlain(child) || child.name) return [child];
    if (child.children.length === 0) return child.pointer ? [child] : [];
    const [only] = child.children;
    if (child.children.length === 1 && typeof only !== "string" && only.ref) return [only];
    return [child];
  }
  function isPlain(node) {
    return node.role === "generic" && !node.ariaHidden && !(node.active && node.ref);
  }
  function joinTexts(children2) {
    const joined = [];
    for (const child of children2) {
      const last = joined.length - 1;
      if (typeof child === "string" && typeof joined[last] === "string") joined[last] += child;
      else joined.push(child);
    }
    return joined.map((child) => typeof child === "string" ? clean(child) : child).filter((child) => child !== "");
  }
  function dropRepeatedText(node) {
    if (node.children.length === 1 && node.children[0] === node.name) node.children = [];
  }
  function dropRepeatedName(node) {
    if (!node.name || node.from !== "content") return;
    const telling = node.children.filter((child) => typeof child !== "string" && !isPlainLeaf(child));
    if (telling.length === 0) return;
    const squeezed = (text) => text.replace(/\s+/g, "");
    const whole = squeezed(node.children.map(spoken).join(""));
    if (whole !== squeezed(node.name) && !telling.some((child) => clean(spoken(child)) === node.name)) return;
    node.dropped = node.name;
    node.name = "";
  }
  function isPlainLeaf(node) {
    return node.role === "generic" && node.children.every((child) => typeof child === "string");
  }
  function spoken(child) {
    if (typeof child === "string") return child;
    return child.name || child.dropped || child.children.map(spoken).join(" ");
  }
  function takeOverText(node) {
    const [only] = node.children;
    if (node.role !== "generic" || node.children.length !== 1 || typeof only === "string" || only === void 0) return;
    if (!isPlain(only) || only.name || only.pointer || only.children.length !== 1) return;
    if (typeof only.children[0] === "string") node.children = [only.children[0]];
  }
  function dropRepeatingChildren(node) {
    if (!node.name) return;
    node.children = node.children.filter((child) => {
      if (typeof child === "string" || child.role !== "generic" || child.pointer) return true;
      if (child.name === node.name && child.children.length === 0) return false;
      return !(!child.name && child.children.length === 1 && child.children[0] === node.name);
    });
  }

  // walker/quiet.ts
  function quiet(still, longest2) {
    return new Promise((resolve) => {
      let timer = setTimeout(done, still);
      const end = setTimeout(done, longest2);
      const observer = new MutationObserver(() => {
        clearTimeout(timer);
        timer = setTimeout(done, still);
      });
      function done() {
        clearTimeout(timer);
        clearTimeout(end);
        observer.disconnect();
        resolve();
      }
      observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    });
  }

  // walker/refs.ts
  var Refs = class {
    last = 0;
    named = /* @__PURE__ */ new WeakMap();
    latest = /* @__PURE__ */ new Map();
    /** Starts a session's next snapshot: refs of the one before are void. */
    begin(session, prefix) {
      const refs2 = /* @__PURE__ */ new Map();
      this.latest.set(session, refs2);
      return (el, role, name) => {
        let known2 = this.named.get(el);
        if (!known2 || known2.role !== role || known2.name !== name) {
          known2 = { number: ++this.last, role, name };
          this.named.set(el, known2);
        }
        const ref = `${prefix}e${known2.number}`;
        refs2.set(ref, new WeakRef(el));
        return ref;
      };
    }
    /** The element that the session's latest snapshot called ref, if it is still in the document. */
    find(session, ref) {
      const el = this.latest.get(session)?.get(ref)?.deref();
      return el && isConnected(el) ? el : null;
    }
    /** What the element was when its ref was given. */
    meaning(el) {
      return this.named.get(el) ?? null;
    }
    forget(session) {
      this.latest.delete(session);
    }
  };

  // walker/quote.ts
  function needsQuotes(text) {
    if (text === "" || text.trim() !== text) return true;
    if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/.test(text)) return true;
    if (text.startsWith("-") || text.startsWith("[") || /^[&*\],?!>|@"'#%]/.test(text)) return true;
    if (/[\n:](\s|$)/.test(text) || /\s#/.test(text) || /[\n\r{}`]/.test(text)) return true;
    if (!isNaN(Number(text)) || /^(y|n|yes|no|true|false|on|off|null)$/i.test(text)) return true;
    return false;
  }
  function quoteKey(key) {
    return needsQuotes(key) ? "'" + key.replace(/'/g, "''") + "'" : key;
  }
  var short = {
    "\\": "\\\\",
    '"': '\\"',
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "	": "\\t"
  };
  function quoteValue(value) {
    if (!needsQuotes(value)) return value;
    return '"' + value.replace(
      /[\\"\u0000-\u001f\u007f-\u009f]/g,
      (c) => short[c] ?? "\\x" + c.charCodeAt(0).toString(16).padStart(2, "0")
    ) + '"';
  }

  // walker/render.ts
  function render(nodes, options) {
    const out = { lines: [], frames: [] };
    for (const node of nodes) add(node, 0, options, out);
    return out;
  }
  function add(node, level, options, out) {
    const indent = "  ".repeat(level) + "- ";
    if (typeof node === "string") {
      out.lines.push(indent + "text: " + quoteValue(node));
      return;
    }
    const cut = options.depth !== void 0 && level >= options.depth;
    const children2 = cut && !loneText(node) ? [] : node.children;
    const properties = cut ? [] : node.properties;
    const key = indent + quoteKey(keyOf(node, cut && node.children.length > 0, options));
    if (node.role === "iframe") {
      out.frames.push({ line: out.lines.length, indent: level, element: node.element, entered: node.ref !== "" && !cut });
    }
    if (children2.length === 0 && properties.length === 0) {
      out.lines.push(key);
    } else if (properties.length === 0 && loneText(node)) {
      out.lines.push(key + ": " + quoteValue(children2[0]));
    } else {
      out.lines.push(key + ":");
      for (const [name, value] of properties) {
        out.lines.push("  ".repeat(level + 1) + "- " + name + ": " + quoteValue(value));
      }
      for (const child of children2) add(child, level + 1, options, out);
    }
  }
  function loneText(node) {
    return node.children.length === 1 && typeof node.children[0] === "string";
  }
  function keyOf(node, childrenCut, options) {
    let key = node.role;
    const name = node.name || (childrenCut ? node.dropped : "");
    if (name) key += " " + JSON.stringify(name);
    const { checked, disabled, expanded, invalid, level, pressed, selected } = node.states;
    const flag = (label, value) => {
      if (value !== void 0) key += value === true ? ` [${label}]` : ` [${label}=${value}]`;
    };
    flag("checked", checked);
    flag("disabled", disabled);
    flag("expanded", expanded);
    flag("active", node.active || void 0);
    flag("invalid", invalid);
    flag("level", level);
    flag("pressed", pressed);
    flag("selected", selected);
    flag("aria-hidden", node.ariaHidden || void 0);
    flag("ref", node.ref || void 0);
    flag("cursor", node.ref && node.pointer ? "pointer" : void 0);
    if (options.boxes) {
      const box = boxOf(node.element);
      flag("box", [box.x, box.y, box.width, box.height].map(Math.round).join(","));
    }
    return key;
  }

  // walker/tree.ts
  var masked = "••••••••";
  var deepest3 = 600;
  var leftOut = "… (nested too deeply, left out)";
  function walk(root, cache, numbering) {
    const owned = /* @__PURE__ */ new Set();
    for (const owner of selectAll(root, "[aria-owns]")) {
      for (const el of referenced(owner, "aria-owns")) if (!contains(el, owner)) owned.add(el);
    }
    const focused2 = page.hasFocus() ? page.active() : null;
    const state = { cache, numbering, owned, placed: /* @__PURE__ */ new Set(), focused: focused2, depth: 0 };
    if (isOut(root, cache)) return null;
    const node = makeNode(root, roleOf(root, cache) ?? "generic", false, state);
    fill(node, state, node.pointer, node.ariaHidden);
    return node;
  }
  function visit(node, parent, state, inPointer, inHidden, textVisible) {
    if (isText(node)) {
      if (textVisible && parent.role !== "textbox" && node.nodeValue) parent.children.push(node.nodeValue);
      return;
    }
    if (!isElement(node)) return;
    const el = node;
    const { cache } = state;
    if (isOut(el, cache)) return;
    if (state.depth >= deepest3) {
      parent.children.push(leftOut);
      return;
    }
    const boxed = hasVisibleBox(el, cache);
    const role = roleOf(el, cache);
    const style = cache.style(el);
    const spaced = style.display !== "inline";
    if (spaced && tagOf(el) !== "br") parent.children.push(" ");
    state.depth++;
    if (!boxed && !isExposed(el, cache)) {
      children(el, state, (child) => visit(child, parent, state, inPointer, inHidden, style.visibility === "visible"));
    } else if (role === null || mergesIntoParent(el, role, style)) {
      parts(el, parent, state, inPointer, inHidden);
    } else {
      const made = makeNode(el, role, inHidden, state);
      parent.children.push(made);
      const pointing = made.ref !== "" && style.cursor === "pointer";
      made.pointer = pointing && !inPointer;
      fill(made, state, inPointer || pointing, inHidden || made.ariaHidden);
    }
    state.depth--;
    if (spaced && tagOf(el) !== "br") parent.children.push(" ");
  }
  function makeNode(el, role, inHidden, state) {
    const { name, from } = role === "iframe" ? { name: "", from: "none" } : nameOf(el, state.cache);
    const style = state.cache.style(el);
    const reachable = style.pointerEvents !== "none" && hasVisibleBox(el, state.cache);
    return {
      element: el,
      role,
      name,
      from,
      states: statesOf(el, role),
      active: el === state.focused,
      ariaHidden: !inHidden && attr(el, "aria-hidden")?.toLowerCase() === "true",
      reachable,
      pointer: reachable && style.cursor === "pointer",
      ref: reachable ? state.numbering(el, role, name) : "",
      properties: propertiesOf(el, role, name),
      children: []
    };
  }
  function fill(node, state, inPointer, inHidden) {
    const el = node.element;
    const value = valueOf2(el);
    if (value !== null) {
      node.children.push(value);
      return;
    }
    if (node.role === "iframe") return;
    parts(el, node, state, inPointer, inHidden);
  }
  function parts(el, into, state, inPointer, inHidden) {
    const before = pseudoText(el, "::before", state.cache);
    if (before) into.children.push(before);
    children(el, state, (child) => visit(child, into, state, inPointer, inHidden, true));
    const after = pseudoText(el, "::after", state.cache);
    if (after) into.children.push(after);
  }
  function children(el, state, use) {
    for (const child of composedChildren(el)) {
      if (!(isElement(child) && state.owned.has(child))) use(child);
    }
    if (hasAttr(el, "aria-owns")) {
      for (const child of referenced(el, "aria-owns")) {
        if (!state.owned.has(child) || state.placed.has(child)) continue;
        state.placed.add(child);
        use(child);
      }
    }
  }
  function mergesIntoParent(el, role, style) {
    if (role !== "generic" || style.display !== "inline" && style.display !== "contents") return false;
    const nodes = nodesOf(shadowOf(el) ?? el);
    return nodes.length === 1 && isText(nodes[0]) && !hasAttr(el, "aria-label");
  }
  function propertiesOf(el, role, name) {
    const list = [];
    if (role === "link") {
      const href = attr(el, "href");
      if (href !== null) list.push(["/url", href.replace(/^(data:[^,]*,).*$/s, "$1…")]);
    }
    if (role === "textbox") {
      const placeholder = clean(attr(el, "placeholder") ?? "");
      if (placeholder && placeholder !== name) list.push(["/placeholder", placeholder]);
    }
    return list;
  }
  function valueOf2(el) {
    if (tagOf(el) === "textarea") return el.value;
    if (tagOf(el) !== "input") return null;
    if (isInput(el, "checkbox", "radio", "file", "button", "submit", "reset", "image")) return null;
    const value = el.value;
    return isInput(el, "password") && value !== "" ? masked : value;
  }

  // walker/main.ts
  var refs = new Refs();
  var frames = /* @__PURE__ */ new WeakMap();
  var shownFrames = /* @__PURE__ */ new Map();
  var guard = null;
  var typing = null;
  function snapshot(options, root) {
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
    shownFrames.set(options.session, places.map(({ element: element2 }) => element2));
    return {
      text: lines.join("\n"),
      numbered,
      title: page.title(),
      frames: places.map(({ line, indent, element: element2, entered }) => ({ line, indent, entered, frame: frames.get(element2) ?? "" }))
    };
  }
  function embedded(session) {
    return (shownFrames.get(session) ?? []).map((el) => frames.get(el) ?? "");
  }
  function forget(session) {
    refs.forget(session);
    shownFrames.delete(session);
  }
  function adopt(owner, frame2) {
    frames.set(owner, frame2);
  }
  function look(session, target) {
    const found = locate(refs, session, target);
    return "element" in found ? {} : found;
  }
  function element(session, target) {
    const found = locate(refs, session, target);
    return "element" in found ? found.element : null;
  }
  function describe(el, target) {
    return { preview: preview(el), locator: locator(el, target) };
  }
  async function aim(el, mustBeEnabled) {
    const where = await ready(el, mustBeEnabled);
    if ("reason" in where) return where;
    const inTheWay = obstacle(el, where);
    return inTheWay ? { reason: inTheWay + " intercepts pointer events" } : where;
  }
  function outwards(owner, point) {
    const outer = outward(owner, point);
    const inTheWay = obstacle(owner, outer);
    return inTheWay ? { reason: inTheWay + " intercepts pointer events" } : outer;
  }
  function beginClick(el, point) {
    guard?.end();
    guard = null;
    const inTheWay = obstacle(el, point);
    if (inTheWay) return inTheWay;
    guard = new ClickGuard(el);
    return "";
  }
  function endClick() {
    const met = guard?.end() ?? null;
    guard = null;
    return met ?? "";
  }
  function beginText(el, text = "", slowly = false) {
    typing = new Typing(fieldOf(el), text, slowly);
    return typing.begin();
  }
  async function endText() {
    return typing ? typing.end() : {};
  }
  function focusText() {
    return typing !== null && refocus(typing.field);
  }
  function title() {
    return page.title();
  }
  return __toCommonJS(main_exports);
})();
