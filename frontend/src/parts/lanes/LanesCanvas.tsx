import { useEffect, useRef, type ReactElement } from "react";

import { drawRows, heightOf, type Picture } from "./draw";

interface LanesCanvasProps {
  /** Memoize it: it is drawn again whenever it is another one. */
  picture: Picture;
  /** What it says in words; without, the words are next to it. */
  label?: string;
}

/** Rows of blocks as pixels, drawn again where its width changes. */
export function LanesCanvas({ picture, label }: LanesCanvasProps): ReactElement {
  const canvas = useRef<HTMLCanvasElement>(null);
  const height = heightOf(picture);
  useEffect(() => {
    const { current } = canvas;
    if (current === null) return;
    const draw = (): void => {
      const [width, ratio] = [current.clientWidth, window.devicePixelRatio];
      const context = current.getContext("2d", { alpha: false });
      if (context === null || width === 0) return;
      current.width = Math.round(width * ratio);
      current.height = Math.round(heightOf(picture) * ratio);
      context.scale(ratio, ratio);
      drawRows(context, width, picture);
    };
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(current);
    return () => observer.disconnect();
  }, [picture]);
  return (
    <canvas
      ref={canvas}
      className="lanes-canvas"
      style={{ height }}
      {...(label === undefined ? { "aria-hidden": true } : { role: "img", "aria-label": label })}
    />
  );
}
