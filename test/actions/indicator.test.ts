import { describe, expect, it } from "vitest";
import { redfishProfile } from "../../simulators/redfish/profiles.ts";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab } from "./lab.ts";

const generic = redfishProfile("generic");

function lab(indicator?: "led" | "chassis" | "none") {
  return actionLab({ redfish: { profile: { ...generic, ...(indicator && { indicator }) } } });
}

describe.concurrent("set-indicator", () => {
  it.each([
    ["redfish", undefined, { LocationIndicatorActive: true }],
    ["redfish", "led", { IndicatorLED: "Blinking" }],
    ["redfish", "chassis", { IndicatorLED: "Blinking" }],
    ["ipmi", undefined, undefined],
  ] as const)("lights the LED and sees it lit: %s, %s", async (provider, indicator, body) => {
    await using there = await lab(indicator);

    const ended = await runAction("set-indicator", { env: there.env(provider) });

    expect(resultOf(ended)).toMatchObject({
      message: `identify LED on via ${provider}`,
      before: "off",
      after: "on",
      changed: true,
    });
    expect(there.machine.indicator).toBe("on");
    const [patch] = there.redfish.requests.filter(({ method }) => method === "PATCH");
    expect(patch?.body).toEqual(body);
  });

  it.each(["redfish", "ipmi"] as const)("sends nothing if it is off already: %s", async (provider) => {
    await using there = await lab();

    const ended = await runAction("set-indicator", { env: { ...there.env(provider), INDICATOR: "off" } });

    expect(resultOf(ended)).toMatchObject({ ok: true, message: `identify LED already off via ${provider}` });
    expect(there.writes()).toEqual([]);
  });

  it("keeps lit what a button has lit for some seconds", async () => {
    await using there = await lab();
    there.machine.indicator = "timed";

    const ended = await runAction("set-indicator", { env: there.env("ipmi") });

    expect(resultOf(ended)).toMatchObject({ before: "timed", after: "on", changed: true });
  });

  it("is unsupported where nothing has an LED, or only for some seconds", async () => {
    await using there = await lab("none");
    there.ipmi.faults.refuses = (name, data) =>
      name === "Chassis Identify" && data.length > 1 ? 0xc7 : undefined;

    const redfish = await runAction("set-indicator", { env: there.env("redfish") });
    const ipmi = await runAction("set-indicator", { env: there.env("ipmi") });

    expect(resultOf(redfish)).toMatchObject({
      class: "unsupported",
      message: "redfish: the BMC offers no identify LED",
    });
    expect(resultOf(ipmi).class).toBe("unsupported");
    expect(resultOf(ipmi).message).toContain("the BMC lights the LED for some seconds only");
  });
});
