import { expect, test } from "vitest";
import { planNmi, sendNmi } from "../../../../shared/bmc/operations/nmi.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import type { PowerState } from "../../../../shared/contract/vocabulary.ts";

/** A machine in this state whose BMC answers the NMI so, and how often it was asked. */
function machine(power: PowerState, answer?: BmcError) {
  const port = {
    sent: 0,
    getPower: async () => power,
    plan: async () => "NMI",
    async send() {
      port.sent += 1;
      if (answer) throw answer;
    },
  };
  return port;
}

test.each(["on", "unknown"] as const)("an NMI is sent once to a machine whose power is %s", async (power) => {
  const port = machine(power);

  expect(await sendNmi(port)).toEqual({ before: power, changed: true, summary: "NMI sent" });
  expect(port.sent).toBe(1);
});

test("a machine that is off is not asked, neither to plan", async () => {
  const port = machine("off");

  await expect(sendNmi(port)).rejects.toMatchObject({ class: "state" });
  await expect(planNmi(port)).rejects.toMatchObject({ class: "state" });
  expect(port.sent).toBe(0);
});

test("a lost answer says that it may have been raised; a refusal does not", async () => {
  const lost = machine("on", new BmcError("timeout", "no answer", { uncertain: true }));
  const refused = machine("on", new BmcError("bmc", "no"));

  await expect(sendNmi(lost)).rejects.toMatchObject({
    class: "timeout",
    uncertain: true,
    message: "no answer; the NMI may have been raised and is not sent again",
  });
  await expect(sendNmi(refused)).rejects.toMatchObject({ class: "bmc", message: "no" });
  expect([lost.sent, refused.sent]).toEqual([1, 1]);
});
