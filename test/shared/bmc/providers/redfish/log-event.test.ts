import { describe, expect, it } from "vitest";
import { LogEvent, parseLogEvent } from "../../../../../shared/bmc/providers/redfish/drivers/log-event.ts";

const ABOUT = { source: "Managers/1/SEL", systemPath: "/redfish/v1/Systems/1" };
const CREATED = "2026-01-15T20:53:25+02:00";

const read = (entry: object, about = ABOUT) =>
  parseLogEvent(LogEvent.parse({ Created: CREATED, Severity: "OK", ...entry }), about);

describe("an entry is an event if its words are about power, as vendors put it", () => {
  it.each([
    ["Server reset.", "reset", "restart"],
    ["Host server reset by: admin.", "reset", "restart"],
    ["Server power restored.", "power", "restart"],
    ["Server power removed.", "power", undefined],
    ["Power-On signal sent to host server by: admin.", "power", undefined],
    ["System is turning on.", "power", "restart"],
    ["System is turning off.", "power", undefined],
    ["System CPU Resetting.", "reset", "restart"],
    ["Requested system powerup.", "power", undefined],
    ["Requested system hardreset.", "reset", undefined],
    ["Host Power has been turned on.", "power", "restart"],
    ["Host Power has been Power Cycled.", "power", "restart"],
    ["The server is restarted by chassis control command.", "reset", "restart"],
    ["Attempting to Hard Reset server SN# 7 by user admin.", "reset", undefined],
    ["[MEL-0051] The system was powered reset successfully.", "reset", "restart"],
    ["[PWR-0020] First AC Power on", "power", "restart"],
    ["The power state of resource /redfish/v1/Systems/1 has changed to type On.", "power", "restart"],
    ["The power state of resource /redfish/v1/Systems/1 has changed to type Off.", "power", undefined],
    ["The power state of resource /redfish/v1/Chassis/Blade5 has changed to type On.", "power", undefined],
    ["Power supply 1 has lost its input.", "supply", undefined],
    ["[PWR-0003] PS5 Status, Power Supply input lost (AC/DC)", "supply", undefined],
    ["PSU1(SN: 7) is added.", "supply", undefined],
    ["The watchdog timer reset the system.", "watchdog", undefined],
    ["System boot completed.", "boot", "boot"],
    ["The operating system began to shut down.", "shutdown", undefined],
  ])("%s", (Message, kind, proves) => {
    const event = read({ Message });

    expect(event).toMatchObject({ kind, message: Message, severity: "ok", source: "Managers/1/SEL" });
    expect(event?.time).toBe("2026-01-15T18:53:25.000Z");
    expect(event?.proves).toBe(proves);
  });

  it.each([
    "BMC was reset successfully.",
    "BMC reset due to Power On Reset",
    "iLO was reset when the system is in POST.",
    "Management Controller SN# 7 Reset was caused by restoring default values.",
    "Secure Boot has been disabled.",
    "Set boot order instance to None was successful.",
    "System One-Time Boot modified by: admin.",
    "Host boot order has been changed.",
    "The chassis is open while the power is off.",
    "The resource property CPU0 Package Power has detected errors of type SensorReadError.",
    "Maintenance note: All HDD SSD is added in System Erase and Reset Job",
    "Intrusion Alert Detection - The server chassis hood was removed prior to this power on.",
    "Successfully logged in using root.",
    "The power state of resource /redfish/v1/Systems/2 has changed to type On.",
  ])("and not for: %s", (Message) => {
    expect(read({ Message })).toBeUndefined();
  });
});

it("the name of the message says what an entry without words is about", () => {
  expect(read({ MessageId: "iLOEvents.3.15.ServerResetDetected" })).toMatchObject({
    kind: "reset",
    message: "iLOEvents.3.15.ServerResetDetected",
    proves: "restart",
  });
  expect(read({ MessageId: "iLOEvents.3.15.ServerPoweredOn" })).toMatchObject({ proves: "restart" });
  expect(read({ MessageId: "iLOEvents.3.15.ServerPoweredOff" })).not.toHaveProperty("proves");
});

it.each([
  ["Power Supply / Converter", "supply", undefined],
  ["PowerUnit", "power", undefined],
  ["Watchdog2", "watchdog", undefined],
  ["System Boot / Restart Initiated", "reset", "restart"],
  ["BaseOSBoot/InstallationStatus", "boot", "boot"],
  ["OS Stop/Shutdown", "shutdown", undefined],
])("the sensor type %s says more than the words", (SensorType, kind, proves) => {
  const event = read({ SensorType, Message: "0x06FFFF" });

  expect(event).toMatchObject({ kind, message: `${SensorType} 0x06FFFF` });
  expect(event?.proves).toBe(proves);
});

it("a condition that has ended is no trouble, and proves nothing", () => {
  const entry = {
    SensorType: "PowerUnit",
    Severity: "Critical",
    Message: "Power lost",
    EntryCode: "Deassert",
  };

  expect(read(entry)).toMatchObject({ message: "Power lost, ended", severity: "ok" });
  expect(read({ ...entry, EntryCode: [{ Member: "Deassert" }] })).toMatchObject({ severity: "ok" });
});

it("any other critical entry is a fault, but not in a log of what users did", () => {
  const entry = { Severity: "Critical", Message: "CPU 1 has a thermal trip." };

  expect(read(entry)).toMatchObject({ kind: "fault", severity: "critical" });
  expect(read(entry, { ...ABOUT, source: "Systems/1/AuditLog" })).toBeUndefined();
});

it("the time is that of the event, and none where the BMC's clock was not set", () => {
  const Message = "Server reset.";

  expect(read({ Message, EventTimestamp: "2026-01-15T12:00:00Z" })?.time).toBe("2026-01-15T12:00:00.000Z");
  expect(read({ Message, Created: "2026-01-15T12:00:00" })?.time).toBe("2026-01-15T12:00:00.000Z");
  expect(read({ Message, Created: "0000-00-00T00:00:00Z" })).toMatchObject({
    message: "Server reset. (the BMC's clock was at 0000-00-00T00:00:00Z)",
  });
  expect(read({ Message, Created: "1970-01-01T00:01:38Z" })).not.toHaveProperty("time");
});
