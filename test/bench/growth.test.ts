import { expect, it } from "vitest";
import { growthSvg, linearFit, type Point } from "../../bench/fleet/growth.ts";

const SIZES = [10, 100, 1_000, 10_000];
const points = (value: (machines: number) => number) =>
  SIZES.map((machines): Point => [machines, value(machines)]);

it("a fit finds a line, however small it begins, and says how far what is none differs from it", () => {
  const line = linearFit(points((machines) => 150 + 0.08 * machines));
  const square = linearFit(points((machines) => machines ** 2));

  expect(line.base).toBeCloseTo(150);
  expect(line.perMachine).toBeCloseTo(0.08);
  expect(line.deviation).toBeCloseTo(0);
  expect(square.deviation).toBeGreaterThan(0.5);
});

it("a picture has each point on its scale, from one power of ten to another", () => {
  const svg = growthSvg([
    { title: "memory", points: points((machines) => 10 * machines), line: (machines) => 10 * machines },
  ]);

  const circles = [...svg.matchAll(/cx="(\d+)" cy="(\d+)"/g)].map(([, x, y]) => [Number(x), Number(y)]);
  expect(circles).toEqual([
    [0, 170],
    [70, 113],
    [140, 57],
    [210, 0],
  ]);
  expect(svg).toContain(">100,000</text>");
});
