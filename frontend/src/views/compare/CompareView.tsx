import { type ReactElement, useMemo } from "react";

import type { CompareSide } from "../../api/client";
import type { Target } from "../../api/request";
import type { ListedTrace, ReportData, Runs } from "../../api/schema";
import { MarkedContext } from "../../components/words";
import { useAsk, usePlace, useServices } from "../../parts/services";
import { ErrorCard, Loading } from "../../parts/states";
import { Differences } from "./Differences";
import { isPerStep } from "./definitions";
import { ChooseBase, Sides } from "./SidePickers";
import { baseSide, chooseBase, otherSide } from "./sides";

interface CompareViewProps {
  target: Target;
  /** Report of all steps of the trace on show. */
  whole: ReportData;
  listed: Runs;
}

/** Two traces, or two ranges of steps, side by side. */
export function CompareView({ target, whole, listed }: CompareViewProps): ReactElement {
  const [place] = usePlace();
  const wanted = place.compare.base;
  const choice = useMemo(
    () => (wanted === null ? null : chooseBase(listed, wanted)),
    [listed, wanted],
  );
  const { steps } = place.compare;
  const base = useMemo(() => (wanted === null ? null : baseSide(choice, wanted)), [choice, wanted]);
  const other = useMemo(() => otherSide(target, steps), [target, steps]);
  if (base === null || choice?.found !== true) {
    const missing = choice?.found === false ? choice.name : (wanted?.run ?? null);
    return <ChooseBase listed={listed} whole={whole} target={target} missing={missing} />;
  }
  return (
    <Compared
      listed={listed}
      whole={whole}
      target={target}
      base={base}
      other={other}
      trace={choice.trace}
    />
  );
}

interface ComparedProps extends CompareViewProps {
  base: CompareSide;
  other: CompareSide;
  /** The file of the side before. */
  trace: ListedTrace;
}

function Compared(props: ComparedProps): ReactElement {
  const { listed, whole, target, base, other, trace } = props;
  const { api } = useServices();
  const loaded = useAsk(api.compare, [base, other]);
  const before = useMemo(
    () => ({ run: base.run, worker: base.worker, trace: base.trace, step: null }),
    [base.run, base.worker, base.trace],
  );
  const compared = loaded.status === "error" ? null : loaded.value;
  const sides = (
    <Sides
      listed={listed}
      whole={whole}
      target={target}
      base={base}
      other={other}
      compared={compared}
    />
  );
  if (compared !== null) {
    return (
      <MarkedContext value={isPerStep(compared.comparison)}>
        <Differences
          comparison={compared.comparison}
          cut={compared.cut ?? {}}
          base={base}
          other={other}
          whole={whole}
        >
          {sides}
        </Differences>
      </MarkedContext>
    );
  }
  return (
    <div className="view">
      <div className="view-main compare">
        {sides}
        {loaded.status === "error" ? (
          <ErrorCard error={loaded.error} onRetry={loaded.retry} />
        ) : (
          <Loading target={before} trace={trace} onStop={loaded.stop} />
        )}
      </div>
    </div>
  );
}
