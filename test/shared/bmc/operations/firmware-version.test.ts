import { expect, it } from "vitest";
import { compareVersions } from "../../../../shared/bmc/operations/firmware-version.ts";

it.each([
  ["1.10.0", "1.9.9", 1],
  ["v2.1", "2.1.0", 0],
  ["1.45.455b66", "1.45.455c01", -1],
  ["iLO 5 v2.72", "iLO 5 v2.09", 1],
  ["1.99999999999999999999", "1.99999999999999999998", 1],
  ["1.73 Jun 01 2026", "1.73", 0],
  ["U54 v2.20 (03/01/2024)", "U54 v2.20", 0],
  ["2.83 2023-07-05", "2.84 2022-01-01", -1],
  ["1.73 Mar 01 2026", "1.73 Jun 01 2026", -1],
  ["iLO 5 v2.72", "2.73", undefined],
  ["U32 2.0", "A40 1.0", undefined],
])("versions are compared by their parts: %s and %s", (a, b, order) => {
  const found = compareVersions(a, b);

  expect(found && Math.sign(found)).toBe(order);
});
