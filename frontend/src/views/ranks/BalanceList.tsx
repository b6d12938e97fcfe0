import type { ReactElement } from "react";

import type { Balance } from "../../api/schema";
import { Name } from "../../components/Name";
import { SmallTable } from "../../components/SmallTable";
import { ShareBar } from "../../components/charts";
import { count, counted, duration, percent } from "../../text/formats";
import { ratio } from "../../text/numbers";
import { BALANCE_DEFINITIONS as B, RANK_DEFINITIONS as D } from "./definitions";

/** Largest compute time over the mean from which the work counts as uneven. */
const UNEVEN = 1.05;

/** What the place of a rank in groups of one name is called. */
const PLACES: Readonly<Record<string, string>> = {
  pipeline: "stage",
  tensor: "shard",
  data: "replica",
};

/** How evenly the work lies over the places of process groups. */
export function BalanceList({ balance }: { balance: readonly Balance[] }): ReactElement {
  if (balance.length === 0) {
    return (
      <p className="notice">
        No process group says what it is for. Groups of a DeviceMesh do: give its dimensions names
        such as pp, tp and dp.
      </p>
    );
  }
  return (
    <div className="balance">
      {balance.map((row) => (
        <BalanceOf key={row.id} row={row} />
      ))}
    </div>
  );
}

function BalanceOf({ row }: { row: Balance }): ReactElement {
  const place = PLACES[row.dimension] ?? "place";
  const most = imbalanceOf(row.compute_us);
  return (
    <section className="facet">
      <h2>
        <Name text={row.name} /> <span className="muted">{row.dimension}, </span>
        <span className="muted">{counted(row.groups, "group")}</span>
      </h2>
      {most !== null && (
        <p>
          {most.ratio < UNEVEN
            ? `Each ${place} computes about as long.`
            : `${place} ${most.place} computes longest: ${percent(most.ratio - 1)} more than the mean.`}
        </p>
      )}
      <SmallTable
        first={16}
        rows={row.ranks.map((_, at) => at)}
        keyOf={(at) => at}
        columns={[
          [{ title: place, text: B.place.text }, (at) => at],
          [B.ranks, (at) => count(row.ranks[at])],
          [{ ...D.compute, span: 2 }, (at) => duration(row.compute_us[at])],
          [
            null,
            (at) => <ShareBar share={ratio(row.compute_us[at] ?? null, most?.us ?? null)} />,
            "balance-bar",
          ],
          [D.communication, (at) => duration(row.communication_us[at])],
          [D.idle, (at) => duration(row.idle_us[at])],
          [D.wait, (at) => duration(row.wait_us[at])],
        ]}
      />
    </section>
  );
}

/** The place with the largest value, and that over the mean of all; null where nothing is known. */
export function imbalanceOf(
  values: readonly (number | null)[],
): { place: number; us: number; ratio: number } | null {
  const known = values.flatMap((us, place) => (us === null ? [] : [{ place, us }]));
  const [first, ...others] = known;
  if (first === undefined) return null;
  const most = others.reduce((best, one) => (one.us > best.us ? one : best), first);
  const mean = known.reduce((sum, { us }) => sum + us, 0) / known.length;
  return { ...most, ratio: mean > 0 ? most.us / mean : 1 };
}
