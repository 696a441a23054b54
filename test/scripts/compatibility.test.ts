import { describe, expect, it } from "vitest";
import { differences, mergeResults } from "../interop/compatibility/results.ts";

const committed = {
  ipmitool: { version: "1.8.18" },
  ipmi_sim: { version: "1.0", actions: { "power-on": "works", "send-nmi": "no" } },
};

describe("results of the interop tests", () => {
  it("keep what a run of some tests did not try", () => {
    const found = { ipmi_sim: { version: "1.1", actions: { "send-nmi": "works" } } };

    expect(mergeResults(committed, found, false)).toEqual({
      ...committed,
      ipmi_sim: { version: "1.1", actions: { "power-on": "works", "send-nmi": "works" } },
    });
  });

  it("lose, after a run of all tests, what a program that was tried no longer has", () => {
    const found = { ipmi_sim: { version: "1.0", actions: { "send-nmi": "works" } } };

    expect(mergeResults(committed, found, true)).toEqual({ ...committed, ...found });
  });

  it("differ in outcomes, not in versions", () => {
    const merged = {
      ipmitool: { version: "1.8.19" },
      ipmi_sim: { version: "1.0", actions: { "power-on": "works", "send-nmi": "other" } },
    };

    expect(differences(committed, merged)).toEqual([
      "- ipmi_sim: send-nmi: no",
      "+ ipmi_sim: send-nmi: other",
    ]);
  });
});
