// Whether a page still changes.

/** Returns once nothing in the document changed for `still` ms, after `longest` ms at the latest. */
export function quiet(still: number, longest: number): Promise<void> {
  return new Promise((resolve) => {
    let timer = setTimeout(done, still);
    const end = setTimeout(done, longest);
    const observer = new MutationObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(done, still);
    });
    function done(): void {
      clearTimeout(timer);
      clearTimeout(end);
      observer.disconnect();
      resolve();
    }
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  });
}
