import { useCallback, useEffect, useSyncExternalStore, type ReactElement } from "react";

import { counted, duration } from "../../text/formats";
import type { ModuleNode } from "./moduleTree";
import type { Bars } from "./bars";

const WIDTH = 60;
const HEIGHT = 16;
const MOST_BAR = 8;

/** What each call of a module cost, from the first to the last. */
export function Spark({ bars, node }: { bars: Bars; node: ModuleNode }): ReactElement | null {
  const path = node.module === null ? null : node.path;
  const get = useCallback(() => (path === null ? null : bars.get(path)), [bars, path]);
  const values = useSyncExternalStore(bars.subscribe, get);
  useEffect(() => {
    if (path !== null) bars.want(path);
  }, [bars, path]);
  if (values === null) return null;
  const most = Math.max(0, ...values);
  if (most <= 0) return <>—</>;
  const step = Math.min(MOST_BAR, WIDTH / values.length);
  return (
    <svg className="spark" width={WIDTH} height={HEIGHT} role="img">
      <title>
        {`${counted(values.length, "call")} or bins of them, ${duration(Math.min(...values))} to ${duration(most)}`}
      </title>
      {values.map((value, index) => (
        <rect
          key={index}
          x={index * step}
          y={HEIGHT - (value / most) * HEIGHT}
          width={Math.max(1, step - 1)}
          height={(value / most) * HEIGHT}
        />
      ))}
    </svg>
  );
}
