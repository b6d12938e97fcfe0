import { createContext, use, useSyncExternalStore } from "react";

import type { Api } from "../api/client";
import type { PlaceStore } from "../address/placeStore";
import type { Place } from "../address/place";

export interface Services {
  api: Api;
  places: PlaceStore;
}

export const ServicesContext = createContext<Services | null>(null);

export function useServices(): Services {
  const services = use(ServicesContext);
  if (services === null) throw new Error("rendered outside of ServicesContext");
  return services;
}

/** Where we are, and how to go elsewhere. */
export function usePlace(): [Place, PlaceStore["go"]] {
  const { places } = useServices();
  return [useSyncExternalStore(places.subscribe, places.get), places.go];
}
