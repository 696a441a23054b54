import { expect, it } from "vitest";
import { compareVersions } from "../../../../shared/bmc/operations/firmware-version.ts";

it.each([
  ["1.10.0", "1.9.9", 1],
  ["v2.1", "2.1.0", 0],
  ["1.45.455b66", "1.45.455c01", -1],
  ["iLO 5 v2.72", "iLO 5 v2.09", 1],
  ["1.99999999999999999999", "1.99999999999999999998", 1],
  ["iLO 5 v2.72", "2.73", undefined],
  ["U32 2.0", "A40 1.0", undefined],
])("versions are compared by their parts: %s and %s", (a, b, order) => {
  const found = compareVersions(a, b);

  expect(found && Math.sign(found)).toBe(order);
});
