/** What the heat map shows of a step of a rank. */
export const RANK_QUANTITIES = ["wait", "compute", "communication", "exposed", "idle"] as const;
export type RankQuantity = (typeof RANK_QUANTITIES)[number];

export const RANK_LISTS = ["ranks", "collectives", "balance"] as const;
export type RankList = (typeof RANK_LISTS)[number];

/** What an address says of the view of ranks, apart from the sort. */
export interface RanksPlace {
  heat: RankQuantity;
  /** Steps before the first one shown. */
  offset: number;
  /** Number of the selected rank. */
  rank: number | null;
  /** Name of its selected step; null for the mean. */
  at: string | null;
  list: RankList;
  /** Kind of the collectives that are listed; null for all. */
  kind: string | null;
  /** Page of the list, counted from 0. */
  page: number;
  /** Id of the selected collective. */
  collective: number | null;
  /** Whether it is shown on all ranks. */
  together: boolean;
  /** Ranks before the first one shown there. */
  others: number;
}

export const NO_RANKS: RanksPlace = {
  heat: "wait",
  offset: 0,
  rank: null,
  at: null,
  list: "ranks",
  kind: null,
  page: 0,
  collective: null,
  together: false,
  others: 0,
};

export function ranksToQuery(place: RanksPlace, query: URLSearchParams): void {
  if (place.heat !== NO_RANKS.heat) query.set("heat", place.heat);
  if (place.offset > 0) query.set("firststep", String(place.offset));
  if (place.rank !== null) query.set("rank", String(place.rank));
  if (place.at !== null) query.set("rankstep", place.at);
  if (place.list !== NO_RANKS.list) query.set("ranks", place.list);
  if (place.kind !== null) query.set("kind", place.kind);
  if (place.page > 0) query.set("rankpage", String(place.page));
  if (place.collective !== null) query.set("collective", String(place.collective));
  if (place.together) query.set("together", "1");
  if (place.others > 0) query.set("firstrank", String(place.others));
}

export function ranksFromQuery(query: URLSearchParams): RanksPlace {
  return {
    heat: RANK_QUANTITIES.find((name) => name === query.get("heat")) ?? NO_RANKS.heat,
    offset: whole(query.get("firststep")) ?? 0,
    rank: whole(query.get("rank")),
    at: query.get("rankstep"),
    list: RANK_LISTS.find((name) => name === query.get("ranks")) ?? NO_RANKS.list,
    kind: query.get("kind"),
    page: whole(query.get("rankpage")) ?? 0,
    collective: whole(query.get("collective")),
    together: query.get("together") === "1",
    others: whole(query.get("firstrank")) ?? 0,
  };
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}
