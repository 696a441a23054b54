import { describe, expect, test } from "vitest";
import { deactivateSol, planSolDeactivation } from "../../../../shared/bmc/operations/sol.ts";

type Reading = readonly number[] | undefined;

/** A BMC whose active instances read so in turn, the last of it for ever, and what was done to it. */
function bmcWith(...readings: readonly [Reading, ...Reading[]]) {
  const left = [...readings];
  const ended: Reading[] = [];
  return {
    ended,
    active: async () => (left.length > 1 ? left.shift() : left[0]),
    async deactivate(instances?: readonly number[]) {
      ended.push(instances);
    },
    sleep: async () => undefined,
  };
}

describe("deactivating SOL", () => {
  test("ends what is active and sees that it is", async () => {
    const bmc = bmcWith([1, 3], [1, 3], []);

    expect(await deactivateSol(bmc)).toEqual({ changed: true, summary: "2 SOL sessions ended" });
    expect(bmc.ended).toEqual([[1, 3]]);
  });

  test("is done although another console has opened an instance since", async () => {
    expect(await deactivateSol(bmcWith([1], [2]))).toMatchObject({ changed: true });
  });

  test("sends nothing when there is nothing", async () => {
    const bmc = bmcWith([]);

    expect(await deactivateSol(bmc)).toEqual({ changed: false, summary: "no SOL session is active" });
    expect(bmc.ended).toEqual([]);
    expect(await planSolDeactivation(bmc)).toEqual({ before: [], steps: [] });
  });

  test("is done blindly where the BMC cannot say, which the summary states", async () => {
    const bmc = bmcWith(undefined);

    expect((await deactivateSol(bmc)).summary).toContain("cannot say whether a session was active");
    expect(bmc.ended).toEqual([undefined]);
    expect(await planSolDeactivation(bmc)).toEqual({ before: undefined, steps: ["SOL deactivation"] });
  });

  test("is a verification failure when the session stays or is opened again", async () => {
    await expect(deactivateSol(bmcWith([1]))).rejects.toMatchObject({ class: "verify" });
  });
});
