/** What was measured with how many machines. */
export type Point = readonly [machines: number, value: number];

export interface LinearFit {
  readonly base: number;
  readonly perMachine: number;
  /** The largest share by which a point differs from the line. */
  readonly deviation: number;
}

/** The line whose differences from the points, as shares of their values, have the least squares. At least two points. */
export function linearFit(points: readonly Point[]): LinearFit {
  const sum = (of: (machines: number, value: number) => number) =>
    points.reduce((total, [machines, value]) => total + of(machines, value) / value ** 2, 0);
  const [ones, xs, ys] = [sum(() => 1), sum((x) => x), sum((_, y) => y)];
  const perMachine = (ones * sum((x, y) => x * y) - xs * ys) / (ones * sum((x) => x * x) - xs * xs);
  const base = (ys - perMachine * xs) / ones;
  const shares = points.map(([x, y]) => Math.abs(base + perMachine * x - y) / y);
  return { base, perMachine, deviation: Math.max(...shares) };
}

export interface Chart {
  readonly title: string;
  readonly points: readonly Point[];
  /** Drawn as a line. */
  readonly line: (machines: number) => number;
}

const WIDTH = 210;
const HEIGHT = 170;
const MARGIN = { left: 58, top: 30, right: 22, bottom: 34 };

/** Points and their line beside each other, on logarithmic scales. */
export function growthSvg(charts: readonly Chart[]): string {
  const pitch = MARGIN.left + WIDTH + MARGIN.right;
  const height = MARGIN.top + HEIGHT + MARGIN.bottom;
  const panels = charts.map(
    (chart, index) =>
      `<g transform="translate(${index * pitch + MARGIN.left} ${MARGIN.top})">${panel(chart)}</g>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${charts.length * pitch}" height="${height}" font-family="sans-serif" font-size="11">
<title>What grows with the number of machines</title>
<rect width="${charts.length * pitch}" height="${height}" fill="#fff"/>
${panels.join("\n")}
</svg>
`;
}

function panel({ title, points, line }: Chart): string {
  const xs = points.map(([machines]) => machines);
  const drawn = points.map(([machines]): Point => [machines, line(machines)]);
  const values = [...points, ...drawn].map(([, value]) => value);
  const x = scale(decades(xs), WIDTH);
  const y = scale(decades(values), -HEIGHT, HEIGHT);
  const at = ([machines, value]: Point) => `${x(machines)},${y(value)}`;
  const grid = [
    ...ticks(xs).map((tick) => mark(x(tick), HEIGHT + 14, "middle", tick, `M${x(tick)} 0V${HEIGHT}`)),
    ...ticks(values).map((tick) => mark(-6, y(tick) + 4, "end", tick, `M0 ${y(tick)}H${WIDTH}`)),
  ];
  return [
    `<text x="0" y="-12" font-weight="bold">${title}</text>`,
    `<text x="${WIDTH / 2}" y="${HEIGHT + 28}" text-anchor="middle">machines</text>`,
    ...grid,
    `<polyline points="${drawn.map(at).join(" ")}" fill="none" stroke="#9aa5b1"/>`,
    ...points.map((point) => `<circle cx="${x(point[0])}" cy="${y(point[1])}" r="4" fill="#2f6fde"/>`),
  ].join("\n");
}

function mark(x: number, y: number, anchor: string, tick: number, path: string): string {
  const label = tick.toLocaleString("en");
  return `<path d="${path}" stroke="#e4e7eb"/><text x="${x}" y="${y}" text-anchor="${anchor}">${label}</text>`;
}

/** The powers of ten around the values. */
function decades(values: readonly number[]): readonly [number, number] {
  const logs = values.map(Math.log10);
  const first = Math.floor(Math.min(...logs));
  return [first, Math.max(first + 1, Math.ceil(Math.max(...logs)))];
}

function ticks(values: readonly number[]): readonly number[] {
  const [first, last] = decades(values);
  return Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
}

function scale([first, last]: readonly [number, number], length: number, from = 0) {
  return (value: number) => Math.round(from + ((Math.log10(value) - first) / (last - first)) * length);
}
