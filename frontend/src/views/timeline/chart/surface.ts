/** A canvas that is as sharp as the screen. */
export class Surface {
  readonly context: CanvasRenderingContext2D;
  private ratio = 1;

  constructor(private readonly canvas: HTMLCanvasElement) {
    const context = canvas.getContext("2d", { alpha: false });
    if (context === null) throw new Error("this browser draws on no canvas");
    this.context = context;
  }

  /** Give it its size: CSS pixels, and device pixels in each. */
  resize(width: number, height: number, ratio: number): void {
    this.ratio = ratio;
    const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width === across && this.canvas.height === down) return;
    this.canvas.width = across;
    this.canvas.height = down;
    this.canvas.style.height = `${height}px`;
  }

  /** Draw in CSS pixels. */
  scaled(draw: () => void): void {
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    draw();
    this.context.setTransform(1, 0, 0, 1, 0, 0);
  }
}
