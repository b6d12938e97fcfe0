import { useEffect } from "react";

/** Name the document, for tabs, history and screen readers. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = title;
  }, [title]);
}
