// Text as a snapshot shows it.

/** Collapses white space to single spaces, trims, and drops characters that have no width. */
export function clean(text: string): string {
  return text.replace(/[\u200b\u00ad]/g, "").replace(/\s+/g, " ").trim();
}
