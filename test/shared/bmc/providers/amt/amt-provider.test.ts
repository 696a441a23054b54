import { afterEach, describe, expect, test } from "vitest";
import { amt } from "../../../../../shared/bmc/providers/amt/amt-provider.ts";
import { envelope, fault, instance, output } from "../../../../../simulators/amt/answers.ts";
import {
  type AmtDevice,
  type AmtDeviceOptions,
  startAmtDevice,
} from "../../../../../simulators/amt/device.ts";
import { createCertificate } from "../../../../../simulators/certificate.ts";
import { SimulatedMachine } from "../../../../../simulators/machine.ts";
import { resultOf, runAction } from "../../../../actions/action-run.ts";
import { errorOf, openSession, signal } from "../../service-lab.ts";

let device: AmtDevice;
afterEach(() => device.close());

async function start(options: AmtDeviceOptions = {}): Promise<void> {
  device = await startAmtDevice({ tls: "http", ...options });
}

const connection = (more: Readonly<Record<string, unknown>> = {}) => ({
  host: "127.0.0.1",
  username: device.username,
  password: device.password,
  providers: ["amt"],
  requestTimeoutMs: 2_000,
  amt: { port: device.http.port },
  ...more,
});

const open = (more?: Readonly<Record<string, unknown>>, hint?: unknown) =>
  openSession(amt, connection(more), hint);

const ASSOCIATION = "CIM_AssociatedPowerManagementService";
const pxeOnce = { device: "pxe", persistent: false, mode: "keep" } as const;

describe("opening", () => {
  test("takes one challenge, one request, and gives the first reading along", async () => {
    await start();

    await using session = await open();
    const power = await session.power.read(signal);

    expect(power).toBe("on");
    expect(session.roundTrips()).toBe(2);
    expect(device.guard.challenges).toBe(1);
    expect(device.http.connections).toBe(1);
  });

  test("with a wrong password is class auth after a single try", async () => {
    await start();

    const error = await errorOf(open({ password: "wrong" }));

    expect(error).toMatchObject({
      class: "auth",
      message: expect.stringMatching(/refused the user name or the password/),
    });
    expect(device.guard.refused).toBe(1);
    expect(device.operations).toEqual([]);
  });

  test("enumerates where the power cannot be got, and the next session knows", async () => {
    await start({ getsPower: false });

    await using session = await open();
    await using next = await open({}, session.hint());

    expect([await session.power.read(signal), await next.power.read(signal)]).toEqual(["on", "on"]);
    expect(device.operations).toEqual([
      `Get ${ASSOCIATION}`,
      `Enumerate ${ASSOCIATION}`,
      `Pull ${ASSOCIATION}`,
      `Enumerate ${ASSOCIATION}`,
      `Pull ${ASSOCIATION}`,
    ]);
  });

  test("goes through TLS with the certificate pinned, and refuses another", async () => {
    await start({ tls: createCertificate({ commonName: "device", altNames: ["127.0.0.1"] }) });
    const tls = (fingerprint: string) => ({
      tls: { fingerprint },
      amt: { port: device.http.port, scheme: "https" },
    });

    await using session = await open(tls(device.http.fingerprint));
    const error = await errorOf(open(tls("ab".repeat(32))));

    expect(await session.power.read(signal)).toBe("on");
    expect(error.class).toBe("tls");
  });

  test.each([
    ["not ASCII", { username: "ädmin" }, "usage"],
    ["nothing listens", { amt: { port: 1 } }, "unreachable"],
  ])("fails with its class when %s", async (_, more, errorClass) => {
    await start();

    expect((await errorOf(open(more))).class).toBe(errorClass);
    expect(device.http.requests).toEqual([]);
  });

  test("a nonce that is out of date is renewed in mid-operation, and the command goes out once", async () => {
    await start({ usesOfNonce: 1 });
    await using session = await open();

    await session.power.send("off", signal);

    expect(device.machine.count("off")).toBe(1);
    expect(device.guard.refused).toBe(0);
    expect(device.guard.challenges).toBeGreaterThan(1);
  });
});

describe("power", () => {
  test.each([
    ["on", "off", {}, "on"],
    ["off", "on", {}, "off"],
    ["soft-off", "on", {}, "soft-off"],
    ["cycle", "on", {}, "cycle"],
    ["reset", "on", {}, "reset"],
  ] as const)("%s is carried out", async (command, power, options, done) => {
    await start({ machine: new SimulatedMachine({ power }), ...options });
    await using session = await open();

    await session.power.send(command, signal);

    expect(device.machine.commands.map(({ action }) => action)).toEqual([done]);
  });

  test.each(["reset", "cycle"] as const)(
    "%s while off is class state, and nothing is sent",
    async (command) => {
      await start({ machine: new SimulatedMachine({ power: "off" }) });
      await using session = await open();

      const error = await errorOf(session.power.send(command, signal));

      expect(error).toMatchObject({
        class: "state",
        message: `the device is in off (soft): it takes no ${command}`,
      });
      expect(device.operations).not.toContain("RequestPowerStateChange");
    },
  );

  test("a graceful shutdown without an agent is unsupported, and the plan says so too", async () => {
    await start({ agent: false });
    await using session = await open();

    const planned = await errorOf(session.power.plan("soft-off", signal));
    const sent = await errorOf(session.power.send("soft-off", signal));

    expect(planned).toMatchObject({ class: "unsupported", message: expect.stringMatching(/needs an agent/) });
    expect(sent.class).toBe("unsupported");
    expect(device.operations).not.toContain("RequestPowerStateChange");
  });

  test("what is on may be planned to be powered on later", async () => {
    await start();
    await using session = await open();

    expect(await session.power.plan("on", signal)).toBe("RequestPowerStateChange 2 (on)");
  });

  test.each([
    [2, "on"],
    [3, "unknown"],
    [4, "unknown"],
    [6, "off"],
    [7, "unknown"],
    [8, "off"],
    [99, "unknown"],
  ])("state %i reads %s", async (state, power) => {
    await start();
    device.script(`Get ${ASSOCIATION}`, envelope(instance(ASSOCIATION, { PowerState: state })));
    await using session = await open();

    expect(await session.power.read(signal)).toBe(power);
  });

  test("a device that does not report what it offers is asked plainly", async () => {
    await start();
    device.script(`Get ${ASSOCIATION}`, envelope(instance(ASSOCIATION, { PowerState: 2 })));
    await using session = await open();

    const error = await errorOf(session.power.send("soft-off", signal));
    await session.power.send("off", signal);

    expect(error.class).toBe("unsupported");
    expect(device.machine.count("off")).toBe(1);
  });

  test.each([
    [1, "unsupported", "not supported"],
    [
      2,
      "bmc",
      "unspecified error; an open KVM, serial or storage redirection session may be the cause: end it",
    ],
    [6, "busy", "in use"],
    [4097, "state", "invalid state transition"],
    [777, "bmc", "unknown meaning"],
  ])("ReturnValue %i with 200 is a failure of class %s", async (value, errorClass, meaning) => {
    await start();
    device.script("RequestPowerStateChange", output("RequestPowerStateChange", value));
    await using session = await open();

    const error = await errorOf(session.power.send("off", signal));

    expect(error).toMatchObject({
      class: errorClass,
      message: `RequestPowerStateChange 8 (off) was refused: ReturnValue ${value}, ${meaning}`,
      uncertain: ["2", "3", "4"].includes(String(value)),
    });
  });
});

describe("faults and broken answers", () => {
  test.each([
    ["AccessDenied", "auth"],
    ["DestinationUnreachable", "unsupported"],
    ["QuotaLimit", "busy"],
    ["InternalError", "bmc"],
  ])("%s is class %s with its reason", async (subcode, errorClass) => {
    await start();
    device.script("RequestPowerStateChange", fault(subcode, "The sky fell down."));
    await using session = await open();

    const error = await errorOf(session.power.send("off", signal));

    expect(error).toMatchObject({
      class: errorClass,
      message: `RequestPowerStateChange: The sky fell down. (${subcode})`,
    });
  });

  test("a fault beside 503 keeps its reason", async () => {
    await start();
    const refused = fault("InternalError", "The sky fell down.");
    device.script("RequestPowerStateChange", (asked) => ({ ...refused(asked), status: 503 }));
    await using session = await open();

    const error = await errorOf(session.power.send("off", signal));

    expect(error).toMatchObject({ class: "busy", message: expect.stringContaining("The sky fell down.") });
  });

  test.each([
    ["no XML", { status: 200, body: "hello" }, "protocol", true],
    ["no envelope", { status: 200, body: "<a/>" }, "protocol", true],
    ["no body", { status: 200, body: "" }, "protocol", true],
    ["another answer", envelope("<a/>"), "protocol", true],
    ["no ReturnValue", envelope("<RequestPowerStateChange_OUTPUT/>"), "protocol", true],
    ["500 without a fault", { status: 500, body: "oops" }, "bmc", true],
    ["503", { status: 503, headers: { "Retry-After": "7" } }, "busy", false],
    ["too much", { status: 200, body: "x".repeat(600_000) }, "protocol", true],
  ])("%s to a write", async (_, reply, errorClass, uncertain) => {
    await start();
    device.script("RequestPowerStateChange", reply);
    await using session = await open();

    const error = await errorOf(session.power.send("off", signal));

    expect(error).toMatchObject({ class: errorClass, uncertain });
    expect(error.retryAfterMs).toBe(errorClass === "busy" ? 7_000 : undefined);
  });

  test.each([
    ["close-before", "unreachable"],
    ["close-after", "unreachable"],
    ["silent", "timeout"],
    ["truncated", "protocol"],
  ] as const)("a write whose answer is lost (%s) is uncertain", async (kind, errorClass) => {
    await start();
    await using session = await open({ requestTimeoutMs: 300 });
    device.http.fail(kind);

    const error = await errorOf(session.power.send("off", signal));

    expect(error).toMatchObject({ class: errorClass, uncertain: true });
    expect(device.machine.count("off")).toBe(kind === "close-before" ? 0 : 1);
  });

  test("a reading whose answer is lost goes out again with a digest of its own", async () => {
    await start();
    await using session = await open();
    await session.power.read(signal);
    device.http.fail("close-after");

    expect(await session.power.read(signal)).toBe("on");
    expect(device.guard.refused).toBe(0);
  });

  test("an enumeration without an end is given up", async () => {
    await start({ getsPower: false });
    const more = envelope(
      "<e:PullResponse><e:EnumerationContext>1</e:EnumerationContext><e:Items/></e:PullResponse>",
    );
    for (let pull = 0; pull < 25; pull++) device.script(`Pull ${ASSOCIATION}`, more);

    const error = await errorOf(open());

    expect(error).toMatchObject({
      class: "protocol",
      message: expect.stringMatching(/did not finish/),
    });
  });
});

describe("one boot from the network", () => {
  test("is armed with cleared options, and read back from the device", async () => {
    await start();
    device.settings["BIOSSetup"] = "true";
    device.settings["UseIDER"] = "true";
    await using session = await open();

    await session.boot.write(pxeOnce, signal);

    expect(await session.boot.read(signal)).toEqual({ device: "pxe", persistent: false });
    expect(device.machine.override).toMatchObject({ device: "pxe", enabled: "once" });
    expect(device.settings).toMatchObject({
      BIOSSetup: "false",
      UseIDER: "false",
      EnforceSecureBoot: "true",
    });
    expect(device.operations.slice(1, 7)).toEqual([
      "Get IPS_OptInService",
      "ChangeBootOrder",
      "Get AMT_BootSettingData",
      "Put AMT_BootSettingData",
      "SetBootConfigRole",
      "ChangeBootOrder",
    ]);
  });

  test("needs no Put where no option is set", async () => {
    await start();
    await using session = await open();

    await session.boot.write(pxeOnce, signal);

    expect(device.operations).not.toContain("Put AMT_BootSettingData");
  });

  test("is used up by the boot it decides", async () => {
    await start({ machine: new SimulatedMachine({ power: "off" }) });
    await using session = await open();

    await session.boot.write(pxeOnce, signal);
    await session.power.send("on", signal);

    await expect.poll(() => device.machine.lastBoot?.device).toBe("pxe");
    expect(await session.boot.read(signal)).toEqual({ device: "none" });
  });

  test("is taken back by none", async () => {
    await start();
    await using session = await open();
    await session.boot.write(pxeOnce, signal);

    await session.boot.write({ device: "none", persistent: false, mode: "keep" }, signal);

    expect(await session.boot.read(signal)).toEqual({ device: "none" });
    expect(device.machine.override.enabled).toBe("disabled");
  });

  test("without the user's consent is class auth before anything is changed", async () => {
    await start({ consent: "required" });
    await using session = await open();

    const error = await errorOf(session.boot.write(pxeOnce, signal));
    const planned = await errorOf(session.boot.plan(pxeOnce, signal));

    expect(error).toMatchObject({
      class: "auth",
      message: expect.stringMatching(/only with user consent/),
    });
    expect(planned.class).toBe("auth");
    expect(device.operations).not.toContain("ChangeBootOrder");
  });

  test.each(["given", "unknown-to-it"] as const)("is set where consent is %s", async (consent) => {
    await start({ consent });
    await using session = await open();

    await session.boot.write(pxeOnce, signal);

    expect(device.machine.override.device).toBe("pxe");
  });

  test.each([
    [3, "busy"],
    [5, "bmc"],
    [6, "auth"],
  ])("refused with ReturnValue %i is class %s", async (value, errorClass) => {
    await start();
    device.script("SetBootConfigRole", output("SetBootConfigRole", value));
    await using session = await open();

    const error = await errorOf(session.boot.write(pxeOnce, signal));

    expect(error).toMatchObject({
      class: errorClass,
      message: expect.stringContaining(`ReturnValue ${value}`),
    });
  });

  test.each([
    [{ ...pxeOnce, device: "disk" }, "sets pxe and none, not disk"],
    [{ ...pxeOnce, persistent: true }, "overrides one boot, not every boot"],
    [{ ...pxeOnce, mode: "uefi" }, "does not choose the boot mode, so it cannot be uefi"],
  ] as const)("is all there is: %o is unsupported", async (request, reason) => {
    await start();
    await using session = await open();
    const before = device.operations.length;

    const error = await errorOf(session.boot.write(request, signal));

    expect(error).toMatchObject({ class: "unsupported", message: `Intel AMT ${reason}` });
    expect(device.operations).toHaveLength(before);
  });

  test("what another console has armed is reported by its name", async () => {
    await start();
    await using session = await open();
    const armed = instance("CIM_ElementSettingData", {
      IsNext: 3,
      SettingData: {
        of: "CIM_BootConfigSetting",
        keys: { InstanceID: "Intel(r) AMT: Boot Configuration 0" },
      },
    });
    const pulled = (items: string) =>
      envelope(`<e:PullResponse><e:Items>${items}</e:Items><e:EndOfSequence/></e:PullResponse>`);
    const source = (InstanceID: string) => ({ of: "CIM_BootSourceSetting", keys: { InstanceID } });
    const ordered = (InstanceID: string, AssignedSequence: number) =>
      instance("CIM_OrderedComponent", { AssignedSequence, PartComponent: source(InstanceID) });

    device.script("Pull CIM_ElementSettingData", pulled(armed));
    device.script(
      "Pull CIM_OrderedComponent",
      pulled(ordered("Intel(r) AMT: Force PXE Boot", 2) + ordered("Intel(r) AMT: Force Hard-drive Boot", 1)),
    );
    const disk = await session.boot.read(signal);
    device.settings["BIOSSetup"] = "true";
    device.script("Pull CIM_ElementSettingData", pulled(armed));
    const bios = await session.boot.read(signal);

    expect(disk).toEqual({ device: "disk", persistent: false });
    expect(bios).toEqual({ device: "bios", persistent: false });
  });
});

test("an action reaches an AMT device from its environment alone", async () => {
  await start({ machine: new SimulatedMachine({ power: "off" }) });

  const ended = await runAction("set-pxe-once", {
    env: {
      BMC_HOST: "127.0.0.1",
      BMC_USERNAME: device.username,
      BMC_PASSWORD: device.password,
      BMC_PROVIDERS: "amt",
      AMT_PORT: String(device.http.port),
    },
  });

  expect(resultOf(ended)).toMatchObject({ ok: true, message: "boot pxe once via amt", provider: "amt" });
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(device.machine.override.device).toBe("pxe");
});
