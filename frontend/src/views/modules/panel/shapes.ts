/** "[8×16] [4]" of `[[8, 16], [], [4]]`: what is no tensor is left out. */
export function shapeText(dims: readonly unknown[]): string {
  const shapes = dims.filter((dim): dim is unknown[] => Array.isArray(dim) && dim.length > 0);
  return shapes.length === 0 ? "no tensor" : shapes.map(oneShape).join(" ");
}

function oneShape(dims: readonly unknown[]): string {
  // A list of tensors has a shape for each of them.
  return dims.some((dim) => Array.isArray(dim))
    ? `(${shapeText(dims)})`
    : `[${dims.map((dim) => String(dim)).join("×")}]`;
}
