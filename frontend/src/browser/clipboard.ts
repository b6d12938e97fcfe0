/** Put text on the clipboard; false where the browser forbids it (pages not served securely). */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // No permission, or no clipboard at all on an insecure origin: the caller selects the text.
    return false;
  }
}

/** Select an element's text, so that the keyboard can copy it. */
export function selectText(element: HTMLElement): void {
  const selection = window.getSelection();
  selection?.selectAllChildren(element);
}
