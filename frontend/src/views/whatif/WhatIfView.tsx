import type { ReactElement } from "react";

import type { Target } from "../../api/request";
import type { ReportData, WhatIf } from "../../api/schema";
import { usePlace, type Loaded } from "../../parts/services";
import { Answer, Pending, Refused } from "./Answer";
import { Explained } from "./Explained";
import { Factors } from "./Factors";
import { FindingChoice } from "./FindingChoice";
import { PathTables } from "./PathTables";
import { PredictedLanes } from "./PredictedLanes";
import { WHATIF } from "./address";
import { predictionOf } from "./answer";
import { isChanged } from "./question";
import { useAnswer, useChangeQuestion } from "./useWhatIf";

interface WhatIfViewProps {
  report: ReportData;
  target: Target;
}

/** How long a step would take with findings gone, or parts of it quicker. */
export function WhatIfView({ report, target }: WhatIfViewProps): ReactElement {
  const [{ whatIf: place }] = usePlace();
  const loaded = useAnswer(target, report, place, false);
  return (
    <div className="view">
      <div className="view-main whatif">
        <section
          className="facet whatif-answer"
          aria-label="Answer"
          aria-busy={loaded.status === "loading"}
        >
          <AnswerOf loaded={loaded} changed={isChanged(place)} report={report} />
        </section>
        {loaded.value?.refused == null && (
          <div className="whatif-question">
            <FindingChoice report={report} place={place} />
            <Factors report={report} place={place} />
          </div>
        )}
        {loaded.status === "loading" && loaded.value === null && <div className="whatif-awaited" />}
        {loaded.status !== "error" && loaded.value?.refused === null && (
          <PathTables report={report} target={target} place={place} />
        )}
        {loaded.status !== "error" && loaded.value?.refused === null && (
          <PredictedLanes report={report} target={target} place={place} />
        )}
        <Explained />
      </div>
    </div>
  );
}

interface AnswerOfProps {
  loaded: Loaded<WhatIf>;
  changed: boolean;
  report: ReportData;
}

function AnswerOf({ loaded, changed, report }: AnswerOfProps): ReactElement {
  const change = useChangeQuestion();
  const { value } = loaded;
  if (loaded.status === "error") {
    const nothing = loaded.error.kind === "not_found" || loaded.error.kind === "usage";
    return (
      <Refused title="No prediction available" why={loaded.error.message}>
        <button
          type="button"
          onClick={() => {
            if (nothing) change(() => WHATIF.start);
            else loaded.retry();
          }}
        >
          {nothing ? "Start over" : "Try again"}
        </button>
      </Refused>
    );
  }
  if (value === null) return <Pending />;
  const prediction = predictionOf(value);
  if (prediction === null) {
    return <Refused title="These steps are not replayed" why={value.refused ?? ""} />;
  }
  return (
    <Answer
      prediction={prediction}
      changed={changed}
      stale={loaded.status === "loading"}
      report={report}
    />
  );
}
