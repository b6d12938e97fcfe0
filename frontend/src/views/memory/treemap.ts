/** Rectangles whose areas are in proportion to sizes, in fractions of a square. */

export interface Rectangle<Item> {
  readonly item: Item;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Halves the sizes into two parts of nearly equal sum, again and again, along the longer side. */
export function treemap<Item>(
  items: readonly Item[],
  size: (item: Item) => number,
  aspect: number,
): Rectangle<Item>[] {
  const some = items.filter((item) => size(item) > 0).sort((a, b) => size(b) - size(a));
  return split(some, size, { x: 0, y: 0, width: 1, height: 1 }, aspect);
}

function split<Item>(
  items: readonly Item[],
  size: (item: Item) => number,
  box: Box,
  aspect: number,
): Rectangle<Item>[] {
  const [first, ...others] = items;
  if (first === undefined) return [];
  if (others.length === 0) return [{ item: first, ...box }];
  const whole = sum(items, size);
  let count = 1;
  let part = size(first);
  for (let next = items[count]; next !== undefined && count < items.length - 1;) {
    if (part + size(next) / 2 > whole / 2) break;
    part += size(next);
    count += 1;
    next = items[count];
  }
  const [left, right] = cut(box, part / whole, aspect);
  return [
    ...split(items.slice(0, count), size, left, aspect),
    ...split(items.slice(count), size, right, aspect),
  ];
}

/** Two parts of a box, side by side or one below the other, whichever side is longer. */
function cut(box: Box, share: number, aspect: number): [Box, Box] {
  const { x, y, width, height } = box;
  if (width * aspect >= height) {
    const first = width * share;
    return [
      { x, y, width: first, height },
      { x: x + first, y, width: width - first, height },
    ];
  }
  const first = height * share;
  return [
    { x, y, width, height: first },
    { x, y: y + first, width, height: height - first },
  ];
}

function sum<Item>(items: readonly Item[], size: (item: Item) => number): number {
  return items.reduce((total, item) => total + size(item), 0);
}
