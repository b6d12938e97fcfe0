import { useMemo, type ReactElement } from "react";

import { blocksOf } from "./blockStack";
import { Curve, type CurveProps } from "./Curve";
import { useDrawnBlocks } from "./useMemory";

interface ChartProps extends Omit<CurveProps, "blocks"> {
  /** Whether each block is drawn. */
  drawn: boolean;
}

/** The curve, with its blocks where they are drawn. */
export function Chart({ drawn, ...rest }: ChartProps): ReactElement {
  const loaded = useDrawnBlocks(rest.target, rest.curve.device, drawn);
  const page = loaded.value;
  const blocks = useMemo(() => (page === null ? null : blocksOf(page)), [page]);
  return (
    <div aria-busy={drawn && loaded.status === "loading"}>
      {drawn && loaded.status === "error" && (
        <p className="notice" role="alert">
          {loaded.error.message}
        </p>
      )}
      <Curve {...rest} blocks={drawn ? blocks : undefined} />
    </div>
  );
}
