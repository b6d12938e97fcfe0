/** Put text on the clipboard; false where the browser forbids it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // No permission, or no clipboard: TensorBoard on another machine is not a secure origin.
    return copyByEvent(text);
  }
}

/** The way of before there was a clipboard interface, which needs no secure origin. */
function copyByEvent(text: string): boolean {
  const fill = (event: ClipboardEvent): void => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
  };
  document.addEventListener("copy", fill, { once: true });
  try {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- nothing else works there
    return document.execCommand("copy");
  } finally {
    document.removeEventListener("copy", fill);
  }
}

/** Select an element's text, so that the keyboard can copy it. */
export function selectText(element: HTMLElement): void {
  const selection = window.getSelection();
  selection?.selectAllChildren(element);
}
