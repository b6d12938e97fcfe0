import type { ReactElement } from "react";

import type { Target } from "../../api/request";
import type { ReportData, WhatIf } from "../../api/schema";
import { Facts } from "../../components/SmallTable";
import { useWords } from "../../components/words";
import { type Loaded, usePlace } from "../../parts/services";
import { PATH_DEFINITIONS } from "../../report/pathBar";
import { Answer, Pending, Refused } from "./Answer";
import { Factors } from "./Factors";
import { FindingChoice } from "./FindingChoice";
import { PathTables } from "./PathTables";
import { PredictedLanes } from "./PredictedLanes";
import { WHATIF } from "./address";
import { predictionOf } from "./answer";
import { SCALE_DEFINITIONS, SLACK_DEFINITIONS, WHATIF_DEFINITIONS } from "./definitions";
import { isChanged, useAnswer, useChangeQuestion } from "./question";

interface WhatIfViewProps {
  report: ReportData;
  target: Target;
}

/** How long a step would take with findings gone, or parts of it quicker. */
export function WhatIfView({ report, target }: WhatIfViewProps): ReactElement {
  const [{ whatIf: place }] = usePlace();
  const loaded = useAnswer(target, report, place, false);
  // What is refused because of what was asked can be asked otherwise.
  const asks = loaded.value?.refused == null || isChanged(place);
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
        {asks && (
          <div className="whatif-question">
            <FindingChoice report={report} place={place} />
            <Factors report={report} place={place} />
          </div>
        )}
        {loaded.status === "loading" && loaded.value === null && <div className="whatif-awaited" />}
        {loaded.status !== "error" && loaded.value?.refused === null && (
          <>
            <PathTables report={report} target={target} place={place} />
            <PredictedLanes report={report} target={target} place={place} />
          </>
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
    if (!changed) return <Refused title="These steps are not replayed" why={value.refused ?? ""} />;
    return (
      <Refused title="No prediction available" why={value.refused ?? ""}>
        <button type="button" onClick={() => change(() => WHATIF.start)}>
          Start over
        </button>
      </Refused>
    );
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

/** What a replay cannot answer, and why. */
const NOT_OFFERED = [
  [
    "Batch size, precision, another device",
    "No trace shows how long kernels take then. If you know the factor, scale them by it.",
  ],
  [
    "Another number of ranks",
    "Collectives are those of this rank; waiting for the others is inside them.",
  ],
  [
    "Kernels that slow one another",
    "Durations stay as recorded, whatever runs concurrently; so do those of loader workers.",
  ],
  [
    "Values that are needed",
    "Taking out a sync assumes that it is not needed; no trace shows whether its value is.",
  ],
  [
    "The cost of recording",
    "It slows the host, most of all with stacks and shapes; all times here include it.",
  ],
] as const;

/** What the answers mean, for who asks. */
function Explained(): ReactElement {
  const say = useWords();
  const words = [
    PATH_DEFINITIONS,
    SLACK_DEFINITIONS,
    SCALE_DEFINITIONS,
    WHATIF_DEFINITIONS,
  ].flatMap((group) => Object.values(group));
  return (
    <footer className="whatif-explained">
      <details>
        <summary>What is not offered, and why</summary>
        <Facts className="whatif-words" of={NOT_OFFERED} />
      </details>
      <details>
        <summary>What the words mean</summary>
        <Facts
          className="whatif-words"
          of={words.map(({ title, text }) => [say(title), say(text)])}
        />
      </details>
    </footer>
  );
}
