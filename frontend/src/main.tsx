import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { PlaceStore } from "./address/placeStore";
import { createApi } from "./api/client";
import { App } from "./app/App";
import { adoptStyles } from "./app/styles";
import { ServicesContext } from "./parts/services";
import { followMode } from "./theme/mode";

/**
 * Show the page in this document. TensorBoard imports this module and calls it inside its own
 * frame; index.html does the same where the page stands alone. The interface is found next to this
 * file, wherever that is served.
 */
export function render(): void {
  const root = document.createElement("div");
  root.id = "hookview";
  const showAwaited = (requests: number): void => {
    root.toggleAttribute("data-awaited", requests > 0);
  };
  const services = {
    api: createApi(new URL(".", /* @vite-ignore */ import.meta.url), showAwaited),
    places: new PlaceStore(window),
  };
  adoptStyles(document);
  followMode(document.documentElement);
  document.documentElement.lang = "en";
  document.body.append(root);
  createRoot(root).render(
    <StrictMode>
      <ServicesContext value={services}>
        <App />
      </ServicesContext>
    </StrictMode>,
  );
}
