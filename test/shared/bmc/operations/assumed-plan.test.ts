import { describe, expect, test } from "vitest";
import type { PowerRequest } from "../../../../shared/bmc/operations/power.ts";
import { startAmtDevice } from "../../../../simulators/amt/device.ts";
import { SimulatedMachine } from "../../../../simulators/machine.ts";
import { redfishLab } from "../../../support/bmc-lab.ts";
import { clientOf, signal } from "../service-lab.ts";

const on: PowerRequest = { verb: "on", timeoutMs: 1_000 };
const off: PowerRequest = { verb: "off", mode: "hard", softTimeoutMs: 1_000, timeoutMs: 1_000 };
const reset: PowerRequest = { verb: "reset", onIfOff: false, timeoutMs: 1_000 };
const pxeOnce = { device: "pxe", persistent: false, mode: "uefi" } as const;
const ISO = "http://192.0.2.9/rescue.iso";

describe("a plan for a state that something before brings about", () => {
  test.each([
    ["on", on, "off", [/"On"/]],
    ["off", off, "on", [/ForceOff/]],
    ["on", on, "on", []],
    ["off", off, "off", []],
  ] as const)(
    "of %s is made whatever the power is now: %j assumed %s",
    async (_, request, assumed, steps) => {
      for (const power of ["on", "off"] as const) {
        await using lab = await redfishLab({ power });

        const plan = await lab.client.planPower(request, signal, assumed);

        expect(plan).toEqual({ before: assumed, steps: steps.map((step) => expect.stringMatching(step)) });
        expect(lab.bmc.log.filter((line) => !line.startsWith("GET"))).toEqual([]);
      }
    },
  );

  test("costs no reading of its own", async () => {
    await using lab = await redfishLab({ power: "on" });
    await lab.client.getPower(signal);
    const before = lab.bmc.requests.length;

    await lab.client.planPower(on, signal, "off");
    const boot = await lab.client.planBoot(pxeOnce, signal, { device: "none" });

    expect(boot).toEqual({ before: { device: "none" }, steps: [expect.stringMatching(/^PATCH /)] });
    expect(lab.bmc.requests.length).toBe(before);
  });

  test.each([
    ["ejects what is assumed to be in", undefined, { inserted: true, image: ISO }, [/EjectMedia/]],
    ["ejects nothing where nothing is assumed", undefined, { inserted: false }, []],
    ["inserts", ISO, { inserted: false }, [/InsertMedia/]],
  ])("of a drive %s", async (_, url, assumed, steps) => {
    await using lab = await redfishLab();

    const plan = await lab.client.planMedia(url, signal, assumed);

    expect(plan).toEqual({ before: assumed, steps: steps.map((step) => expect.stringMatching(step)) });
  });

  test("names the command alone where what is sent depends on the state", async () => {
    const device = await startAmtDevice({ tls: "http", machine: new SimulatedMachine({ power: "off" }) });
    await using client = clientOf({
      host: "127.0.0.1",
      username: device.username,
      password: device.password,
      providers: ["amt"],
      amt: { port: device.http.port },
    });

    const plan = await client.planPower(reset, signal, "on");

    expect(plan).toEqual({ before: "on", steps: ["reset"] });
    await expect(client.planPower(reset, signal)).rejects.toMatchObject({ class: "state" });
    await device.close();
  });

  test("is unsupported where the BMC does not offer the command in any state", async () => {
    await using lab = await redfishLab({ power: "off" }, { profile: "bare" });

    await expect(lab.client.planMedia(ISO, signal, { inserted: false })).rejects.toMatchObject({
      class: "unsupported",
    });
  });
});
