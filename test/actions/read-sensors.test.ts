import { describe, expect, it } from "vitest";
import { type RedfishProfile, redfishProfile } from "../../simulators/redfish/profiles.ts";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab } from "./lab.ts";

const generic = redfishProfile("generic");

function lab(sensors?: RedfishProfile["sensors"], expand: "." | "none" = "none") {
  return actionLab({ redfish: { profile: { ...generic, expand, ...(sensors && { sensors }) } } });
}

describe.concurrent("read-sensors", () => {
  it.each([
    ["redfish", ["Sensors"]],
    ["redfish", ["Thermal"]],
    ["redfish", ["Sensors", "Thermal"]],
    ["ipmi", undefined],
  ] as const)(
    "reads values, thresholds and health, and names what is critical: %s, %j",
    async (provider, has) => {
      await using there = await lab(has);
      const [fan] = there.machine.sensors.filter(({ name }) => name === "Fan 3");
      if (fan) fan.value = 0;

      const ended = await runAction("read-sensors", { env: there.env(provider) });

      const { data, message } = resultOf(ended);
      const ok = provider === "ipmi" ? 7 : 6;
      expect(message).toBe(
        `${ok + 2} sensors: ${ok} ok, 1 absent, 1 critical: Fan 3 (0 RPM) via ${provider}`,
      );
      expect(data).toMatchObject({
        counts: { ok, warning: 0, critical: 1, unknown: 1 },
        sensors: expect.arrayContaining([
          expect.objectContaining({
            name: "Inlet Temp",
            kind: "temperature",
            value: 23,
            unit: "°C",
            health: "ok",
            thresholds: { lowerCritical: -7, upperWarning: 38, upperCritical: 42 },
          }),
          expect.objectContaining({ name: "12V", kind: "voltage", value: 12.096, unit: "V" }),
          expect.objectContaining({ name: "System Power", kind: "power", value: 312, unit: "W" }),
          expect.objectContaining({ name: "CPU2 Temp", state: "absent", health: "unknown" }),
          expect.objectContaining({ name: "Fan 3", value: 0, health: "critical" }),
        ]),
      });
      expect(there.writes()).toEqual([]);
    },
  );

  it.each([
    ["the expanded collection beside Thermal and Power", ".", 3],
    ["no collection that costs a request per sensor and has no more of them", "none", 3],
  ] as const)("reads %s", async (_, expand, most) => {
    await using there = await lab(["Sensors", "Thermal"], expand);

    const ended = await runAction("read-sensors", { env: there.env("redfish") });

    expect(resultOf(ended).ok).toBe(true);
    const paths = there.redfish.log.filter((line) => line.startsWith("GET /redfish/v1/Chassis/1/"));
    expect(paths).toContain("GET /redfish/v1/Chassis/1/Thermal");
    expect(paths.length).toBeLessThanOrEqual(most);
  });

  it("prints a table", async () => {
    await using there = await lab();

    const ended = await runAction("read-sensors", { env: { ...there.env("ipmi"), OUTPUT: "table" } });

    expect(ended.stdout).toMatch(/^Inlet Temp +temperature +23 °C +ok +up to 38 +-7 to 42$/m);
    expect(ended.stdout).toMatch(/^PS Redundancy +other +fully redundant +ok$/m);
  });
});
