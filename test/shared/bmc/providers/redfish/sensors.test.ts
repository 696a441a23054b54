import { expect, test } from "vitest";
import {
  fromPower,
  fromSensor,
  fromThermal,
  Power,
  Sensor,
  Thermal,
} from "../../../../../shared/bmc/providers/redfish/drivers/sensor-resources.ts";
import { startRedfishBmc } from "../../../../../simulators/redfish/bmc.ts";
import { redfishProfile } from "../../../../../simulators/redfish/profiles.ts";
import { neverAborts, withSession } from "./open-session.ts";

const sensor = (value: unknown) => fromSensor("/redfish/v1/Chassis/1/Sensors/x", Sensor.parse(value));

test("fans and power supplies of the subsystems are read where the BMC has no other sensors", async () => {
  const generic = redfishProfile("generic");
  await using bmc = await startRedfishBmc({
    ...{ tls: "http", profile: { ...generic, sensors: ["ThermalSubsystem"] } },
  });

  const readings = await withSession(bmc, {}, async ({ sensors }) => sensors?.read(neverAborts()));

  expect(readings).toEqual([
    ...[1, 2, 3].map((n) => ({ name: `Fan ${n}`, kind: "fan", value: 4_200, unit: "RPM", health: "ok" })),
    ...[1, 2].map((n) => ({ name: `PSU ${n}`, kind: "power", health: "ok", events: ["Enabled"] })),
  ]);
});

test.each([
  [
    { Reading: 41, ReadingUnits: "Cel" },
    { kind: "temperature", unit: "°C", value: 41, health: "unknown" },
  ],
  [
    { Reading: 3000, ReadingUnits: "{rev}/min" },
    { kind: "fan", unit: "RPM" },
  ],
  [
    { Reading: 40, ReadingUnits: "%", PhysicalContext: "Fan" },
    { kind: "fan", unit: "%", entity: "Fan" },
  ],
  [
    { Reading: 40, ReadingType: "Humidity", ReadingUnits: "%" },
    { kind: "other", unit: "%" },
  ],
  [{ Reading: 9, Thresholds: { UpperCaution: { Reading: 8 } } }, { health: "warning" }],
  [{ Reading: 9, Thresholds: { LowerCritical: { Reading: 9 } } }, { health: "critical" }],
  [
    { Reading: 9, Thresholds: { LowerCritical: { Reading: "N/A" }, UpperFatal: null } },
    { health: "unknown" },
  ],
  [{ Reading: "41", ReadingUnits: "Cel" }, { value: 41 }],
  [{ Reading: 45, Thresholds: { UpperCritical: { Reading: 0 } } }, { health: "unknown" }],
  [
    { Reading: -12.1, Thresholds: { UpperCritical: { Reading: 0 }, LowerCritical: { Reading: -13 } } },
    { health: "ok", thresholds: { lowerCritical: -13, upperCritical: 0 } },
  ],
  [{ Reading: null, Status: { State: "Enabled" } }, { state: "unavailable" }],
  [
    { Reading: 0, Status: { State: "Absent" } },
    { state: "absent", health: "unknown" },
  ],
  [
    { Reading: "hot", Status: [] },
    { name: "x", state: "unavailable" },
  ],
])("a sensor %j reads %j", (value, expected) => {
  expect(sensor(value)).toMatchObject(expected);
});

test("entries of the older resources that cannot be read are left out, and others read", () => {
  const fans = [
    null,
    7,
    { FanName: "Fan 1", CurrentReading: 20, Units: "Percent", Status: { Health: "OK" } },
  ];

  expect(fromThermal(Thermal.parse({ Temperatures: "none", Fans: fans }))).toEqual([
    { name: "Fan 1", kind: "fan", value: 20, unit: "%", health: "ok" },
  ]);
  const supplies = [
    { MemberId: "0", LastPowerOutputWatts: 120, Status: { State: "Enabled", Health: "Warning" } },
  ];
  expect(fromPower(Power.parse({ PowerSupplies: supplies }))).toEqual([
    { name: "0", kind: "power", value: 120, unit: "W", health: "warning" },
  ]);
});
