import { flag, oneOf, record, text, whole, type Read } from "../../text/query";

/** What the heat map shows of a step of a rank. */
export const RANK_QUANTITIES = ["wait", "compute", "communication", "exposed", "idle"] as const;
export type RankQuantity = (typeof RANK_QUANTITIES)[number];

export const RANK_LISTS = ["ranks", "collectives", "balance"] as const;
export type RankList = (typeof RANK_LISTS)[number];

/** What an address says of the view of ranks, apart from the sort. */
export const RANKS = record({
  heat: oneOf("heat", RANK_QUANTITIES, "wait"),
  /** Steps before the first one shown. */
  offset: whole("firststep", 0),
  /** Number of the selected rank. */
  rank: whole("rank", null),
  /** Name of its selected step; null for the mean. */
  at: text("rankstep"),
  list: oneOf("ranks", RANK_LISTS, "ranks"),
  /** Kind of the collectives that are listed; null for all. */
  kind: text("kind"),
  /** Page of the list, counted from 0. */
  page: whole("rankpage", 0),
  /** Id of the selected collective. */
  collective: whole("collective", null),
  /** Whether it is shown on all ranks. */
  together: flag("together", "1"),
  /** Ranks before the first one shown there. */
  others: whole("firstrank", 0),
});
export type RanksPlace = Read<typeof RANKS>;
