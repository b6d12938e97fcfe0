import { useRef, type PointerEvent, type ReactElement } from "react";

interface ResizeHandleProps {
  column: string;
  /** null: its own width again. */
  onResize: (column: string, width: number | null) => void;
}

/** The edge of a column, to be dragged; the keyboard does the same from the column's button. */
export function ResizeHandle({ column, onResize }: ResizeHandleProps): ReactElement {
  const grip = useRef<{ x: number; width: number } | null>(null);
  const drop = (): void => {
    grip.current = null;
  };
  return (
    <span
      className="resize"
      aria-hidden="true"
      onPointerDown={(event: PointerEvent<HTMLElement>) => {
        if (event.button !== 0) return;
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        const width = event.currentTarget.parentElement?.offsetWidth ?? 0;
        grip.current = { x: event.clientX, width };
      }}
      onPointerMove={(event) => {
        if (grip.current === null) return;
        onResize(column, grip.current.width + event.clientX - grip.current.x);
      }}
      onPointerUp={drop}
      onPointerCancel={drop}
      onDoubleClick={() => {
        onResize(column, null);
      }}
    />
  );
}
