import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { measureScaling } from "../../../../bench/scaling/measure.ts";
import { scalingTables } from "../../../../bench/scaling/tables.ts";

test("the small installation's figures in docs/explanation/scaling.md are what the simulation prints", async () => {
  const text = readFileSync(new URL("../../../../docs/explanation/scaling.md", import.meta.url), "utf8");
  const options = { machines: 1_000, replicas: 3, repeats: 3, seed: 1 };

  const figures = await measureScaling(options);

  expect(figures.doubles).toBe(0);
  expect(text).toContain(scalingTables(options, figures));
});
