import type { ReactElement } from "react";

import type { RunOverview } from "../../api/schema";
import { Name } from "../../components/Name";
import { PanelHeader, SidePanel } from "../../components/SidePanel";
import { PlaceLink } from "../../parts/PlaceLink";
import type { RunKey } from "../../parts/run";
import { RowFacts } from "../../parts/serverTable/RowPanel";
import { numberOf, type TableRow, textOf } from "../../parts/serverTable/rows";
import { usePlace } from "../../parts/services";
import { lateTimes } from "./RankPanel";
import { kindText } from "./collectives";
import { COLLECTIVE_FACTS } from "./columns";
import { moduleOf, timelineOf } from "./links";
import { useRunRow } from "./useRun";

interface CollectivePanelProps {
  runKey: RunKey;
  run: RunOverview;
  id: number;
  onClose: () => void;
}

/** One collective: its figures, the straggler at that moment, and the first one waiting for it. */
export function CollectivePanel(props: CollectivePanelProps): ReactElement {
  const { runKey, run, id, onClose } = props;
  const row = useRunRow(runKey, "collectives", id);
  return (
    <SidePanel label="Collective" className="rank-panel" onClose={onClose}>
      <PanelHeader onClose={onClose}>
        {row === undefined ? (
          "Collective"
        ) : (
          <Name text={kindText(textOf(row, "name"))} className="wrap" />
        )}
      </PanelHeader>
      {row !== undefined && (
        <>
          <RowFacts row={row} columns={COLLECTIVE_FACTS.filter(({ id: of }) => of !== "name")} />
          <OnAllRanks />
          <Links run={run} row={row} />
        </>
      )}
    </SidePanel>
  );
}

function OnAllRanks(): ReactElement {
  const [{ ranks }] = usePlace();
  return (
    <PlaceLink className="button" to={{ ranks: { ...ranks, together: true, others: 0 } }}>
      Show on all ranks, on one clock
    </PlaceLink>
  );
}

function Links({ run, row }: { run: RunOverview; row: TableRow }): ReactElement {
  const late = numberOf(row, "late_rank");
  const place = late === null ? -1 : run.ranks.indexOf(late);
  const module = row.late_module === null ? null : textOf(row, "late_module");
  const whole = (numberOf(row, "transfer_us") ?? 0) + (numberOf(row, "wait_us") ?? 0);
  return (
    <>
      {place >= 0 && (
        <PlaceLink className="button" to={timelineOf(run, place, ...lateTimes(row))}>
          Show in the timeline of rank {late}, which came last
        </PlaceLink>
      )}
      <PlaceLink className="button" to={timelineOf(run, 0, numberOf(row, "start_us") ?? 0, whole)}>
        Show that moment in the timeline of rank {run.ranks[0]}
      </PlaceLink>
      {place >= 0 && module !== null && (
        <PlaceLink className="button" to={moduleOf(run, place, module)}>
          Show the delayed module
        </PlaceLink>
      )}
    </>
  );
}
