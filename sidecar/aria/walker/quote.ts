// YAML's quoting, as far as a snapshot needs it.

/** A text that YAML would read as something else than itself. */
export function needsQuotes(text: string): boolean {
  if (text === "" || text.trim() !== text) return true;
  if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/.test(text)) return true;
  if (text.startsWith("-") || text.startsWith("[") || /^[&*\],?!>|@"'#%]/.test(text)) return true;
  if (/[\n:](\s|$)/.test(text) || /\s#/.test(text) || /[\n\r{}`]/.test(text)) return true;
  if (!isNaN(Number(text)) || /^(y|n|yes|no|true|false|on|off|null)$/i.test(text)) return true;
  return false;
}

/** A line's role, name and attributes. */
export function quoteKey(key: string): string {
  return needsQuotes(key) ? "'" + key.replace(/'/g, "''") + "'" : key;
}

const short: Record<string, string> = {
  "\\": "\\\\", '"': '\\"', "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t",
};

/** A text or a property's value. */
export function quoteValue(value: string): string {
  if (!needsQuotes(value)) return value;
  return '"' + value.replace(/[\\"\u0000-\u001f\u007f-\u009f]/g,
    (c) => short[c] ?? "\\x" + c.charCodeAt(0).toString(16).padStart(2, "0")) + '"';
}
