import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { REPORTS } from "../../../scripts/tested-hardware.ts";
import { systemClock } from "../../../shared/clock.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { readRecording } from "../../../shared/recording/read-recording.ts";
import { parseRecording, type Recording } from "../../../shared/recording/recording.ts";
import { type StartRecordingOptions, startRecording } from "../../../simulators/recorded/start-recording.ts";
import { resultOf, runAction } from "../../actions/action-run.ts";
import { expectReport } from "./report.ts";

const FOLDER = join(import.meta.dirname, "../../recordings");
const MEDIA = { MEDIA_URL: "http://192.0.2.1/x.iso" };
const UPDATE = { FIRMWARE_URI: "http://192.0.2.1/x.bin" };
/** Any file will do. */
const PUSH = { FIRMWARE_FILE: import.meta.filename };
const PASSWORD = { PASSWORD: "correct-horse-9" };
const NEW_USER = { USER_NAME: "user-1", ROLE: "administrator", ...PASSWORD };
const DROPPED = { BIOS_ATTRIBUTES: "ThermalConfig=IncreasedCooling", WAIT: "true", WAIT_TIMEOUT: "60s" };
/** Shorter than the task. */
const NAMED_TASK = { ...UPDATE, TARGETS: "BIOS", FIRMWARE_VERSION: "1.5", VERIFY_TIMEOUT: "1s" };
const JOB_ENDS = { BIOS_ATTRIBUTES: "MemTest=Enabled", WAIT: "true", WAIT_TIMEOUT: "1s" };
const LEASE = { MODE: "static", VERIFY_TIMEOUT: "6s", IPMI_PRIVILEGE: "administrator" };
const SYSTEM = "/redfish/v1/Systems/1";

async function launched(source: string | Recording, options: StartRecordingOptions = {}) {
  const path = typeof source === "string" ? join(FOLDER, `${source}.json`) : source;
  const running = await startRecording(path, { tls: "http", ...options });
  const { redfish, ipmi, recording, username, password } = running;
  const login = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  const isIpmiAlone = ipmi !== undefined && Object.keys(recording.resources).length === 0;
  return {
    ...running,
    send: (path: string, init: RequestInit = {}) =>
      fetch(redfish.url + path, {
        ...init,
        headers: { authorization: login, "content-type": "application/json" },
      }),
    run: async (action: string, env: Readonly<Record<string, string>> = {}) => {
      const connection = {
        ...{ BMC_HOST: "127.0.0.1", BMC_USERNAME: username, BMC_PASSWORD: password },
        BMC_PROVIDERS: [...(isIpmiAlone ? [] : ["redfish"]), ...(ipmi ? ["ipmi"] : [])].join(),
        ...{ REDFISH_SCHEME: "http", REDFISH_PORT: String(redfish.port) },
        ...(ipmi && { IPMI_PORT: String(ipmi.port) }),
      };
      return resultOf(await runAction(action, { env: { ...connection, ...env }, clock: systemClock }));
    },
  };
}

async function started(source: string | Recording, options?: StartRecordingOptions) {
  const running = await launched(source, options);
  onTestFinished(() => running.close());
  return running;
}

const system = (more: object) => ({
  "@odata.type": "#ComputerSystem.v1_5_0.ComputerSystem",
  Id: "1",
  ...more,
});
const change = { request: `PATCH ${SYSTEM}`, atMs: 1_000, ms: 0, status: 204 };
const reading = (atMs: number, more: object) => ({ request: `GET ${SYSTEM}`, atMs, ms: 0, ...more });
const recordingOf = (exchanges: NonNullable<Recording["exchanges"]>): Recording => ({
  resources: { [SYSTEM]: system({ AssetTag: "before", PowerState: "On" }) },
  exchanges,
});

describe("what an exchange recorded happens again", () => {
  it("in order and time: a BMC that is strange after a reset", async () => {
    const { run, redfish, machine } = await started("empty-body-after-reset", { speed: 4 });

    const result = await run("power-off", { MODE: "hard" });

    expect(result).toMatchObject({ ok: true, before: "on", after: "off" });
    expect(redfish.log.filter((line) => line.startsWith("POST"))).toHaveLength(1);
    expect(machine.power).toBe("off");
  });

  it("and ends with the next change, which is the machine's own where none was recorded", async () => {
    const { run } = await started("empty-body-after-reset", { speed: 100 });
    await run("power-off", { MODE: "hard" });

    expect(await run("power-on")).toMatchObject({ ok: true, before: "off", after: "on" });
  });

  it("each time that the change is sent again", async () => {
    const { send } = await started(
      recordingOf([
        change,
        reading(1_000, { status: 404 }),
        { ...change, atMs: 2_000 },
        reading(2_000, { status: 503, headers: { "retry-after": "7" } }),
      ]),
      { speed: 1_000 },
    );
    const patch = () => send(SYSTEM, { method: "PATCH", body: "{}" });

    const statuses: number[] = [];
    for (let round = 0; round < 3; round++)
      statuses.push((await patch()).status, (await send(SYSTEM)).status);

    expect(statuses).toEqual([204, 404, 204, 503, 204, 404]);
  });

  it("also a connection that was closed without an answer", async () => {
    const { send } = await started(recordingOf([change, reading(1_000, { error: "reset" })]), {
      speed: 1_000,
    });

    await send(SYSTEM, { method: "PATCH", body: "{}" });

    await expect(send(SYSTEM)).rejects.toThrow();
  });

  it("also with a header that no server can send, which ends the connection alone", async () => {
    const { send, redfish } = await started(
      recordingOf([change, reading(1_000, { status: 200, headers: { allow: "a\nb" } })]),
      { speed: 1_000 },
    );
    await send(SYSTEM, { method: "PATCH", body: "{}" });

    await expect(send(SYSTEM)).rejects.toThrow();

    expect((await fetch(`${redfish.url}/redfish/v1`)).status).toBe(200);
  });

  it("with the values that are asked for now, in the fields that showed what was asked for then", async () => {
    const body = system({ AssetTag: "stand-in", Name: "stand-in", PowerState: "On" });
    const { send } = await started(
      recordingOf([
        { ...change, sent: { body: { AssetTag: "stand-in" } } },
        reading(1_001, { status: 200, body }),
      ]),
      { speed: 1_000 },
    );

    await send(SYSTEM, { method: "PATCH", body: '{"AssetTag":"rack 7"}' });

    expect(await (await send(SYSTEM)).json()).toMatchObject({ AssetTag: "rack 7", Name: "stand-in" });
  });

  it("for no other login", async () => {
    const { redfish } = await started(recordingOf([reading(0, { status: 200, body: {} })]));

    expect((await fetch(redfish.url + SYSTEM)).status).toBe(401);
  });
});

describe("the recordings of tested hardware", () => {
  it("give the results that their owners had", { timeout: 600_000 }, async () => {
    const names = existsSync(REPORTS) ? readdirSync(REPORTS) : [];
    for (const name of names) await expectReport(await readRecording(join(REPORTS, name)));
  });
});

describe("the recordings of reported cases", () => {
  it.each(readdirSync(FOLDER).filter((name) => name.endsWith(".json")))(
    "%s has at most 60 lines, and starts",
    async (name) => {
      const text = readFileSync(join(FOLDER, name), "utf8");

      expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(60);
      const { send } = await started(parseRecording(Buffer.from(text)));
      expect((await send("/redfish/v1")).status).toBe(200);
    },
  );

  it.concurrent.for<[string, string, Readonly<Record<string, string>>, "ok" | ErrorClass, RegExp, number]>([
    ["bios-dropped-at-boot", "set-bios", DROPPED, "verify", /IncreasedCooling cannot be used/, 1],
    ["bios-job-running", "set-bios", { BIOS_ATTRIBUTES: "MemTest=Enabled" }, "ok", /is still running/, 0],
    ["bios-job-running", "set-bios", JOB_ENDS, "verify", /job that applies them is still running/, 0],
    ["bios-job-running", "set-bios", { BIOS_ATTRIBUTES: "NumLock=Off" }, "bmc", /already committed/, 1],
    ["bios-pending-already", "set-bios", { BIOS_ATTRIBUTES: "MemTest=Enabled" }, "ok", /after the next/, 0],
    ["boot-without-override", "get-boot-device", {}, "unsupported", /offers no boot override/, 0],
    ["boot-without-override", "set-pxe-once", {}, "unsupported", /offers no boot override/, 0],
    ["default-password", "power-off", { MODE: "hard" }, "auth", /default password is still in use/, 1],
    ["image-named-by-hash", "update-firmware", PUSH, "ok", /v2\.11\.0 to ece98953 v2\.12\.2/, 1],
    ["junk-sdr", "read-sensors", {}, "ok", /^3 sensors: 3 ok/, 0],
    ["lease-dropped-at-once", "set-bmc-network", LEASE, "timeout", /half made.*not sent: gateway/, 0],
    ["lease-dropped-later", "set-bmc-network", LEASE, "ok", /answers at 127\.0\.0\.1/, 0],
    ["licence-refused", "get-secure-boot", {}, "unsupported", /DCMS/, 0],
    ["link-local-first", "set-bmc-network", { ADDRESS: "127.0.0.1/24" }, "ok", /^already/, 0],
    ["location-with-own-address", "insert-virtual-media", MEDIA, "bmc", /image cannot be read/, 1],
    ["media-action-without-target", "insert-virtual-media", MEDIA, "ok", /inserted/, 1],
    [
      "monitor-gone",
      "update-firmware",
      { ...UPDATE, TARGETS: "1", FIRMWARE_VERSION: "1.73" },
      "ok",
      /to 1\.73/,
      1,
    ],
    ["nmi-not-implemented", "send-nmi", {}, "verify", /may have been raised and is not sent again/, 1],
    ["no-media-members", "insert-virtual-media", MEDIA, "unsupported", /no virtual drive/, 0],
    ["no-systems", "power-status", {}, "unsupported", /system/, 0],
    ["not-ready", "power-status", {}, "ok", /^on/, 0],
    ["ntp-not-kept", "set-ntp", { NTP_SERVERS: "10.0.0.1" }, "ok", /NTP on \(10\.0\.0\.1\)/, 1],
    ["ntp-of-dhcp-listed", "set-ntp", { NTP_SERVERS: "9.3.1.2" }, "ok", /9\.3\.1\.2/, 1],
    ["odd-sensors", "read-sensors", {}, "ok", /4 sensors/, 0],
    ["one-sensor-listed", "read-sensors", {}, "ok", /4 sensors: 3 ok, 1 critical: FAN1/, 0],
    ["override-needs-mode", "clear-boot-override", {}, "ok", /boot none/, 2],
    ["password-change-required", "power-status", {}, "auth", /Accounts\/root/, 0],
    [
      "password-change-required",
      "update-user",
      { USER_NAME: "root", ...PASSWORD },
      "ok",
      /password works/,
      1,
    ],
    ["paused", "power-on", { STATE_TIMEOUT: "4s" }, "timeout", /its power state is Paused/, 1],
    ["paused", "power-reset", { STATE_TIMEOUT: "4s" }, "ok", /^reset, on/, 1],
    ["power-not-shown", "power-status", {}, "ok", /^unknown/, 0],
    ["privileges-for-roles", "create-user", NEW_USER, "ok", /user-1 created as administrator/, 2],
    [
      "push-needs-oem-parameters",
      "update-firmware",
      { ...PUSH, TARGETS: "BMCImage1" },
      "ok",
      /to 13\.3\.0/,
      2,
    ],
    ["redirect-to-other-port", "power-status", {}, "protocol", /198\.51\.100\.20:8080/, 0],
    ["sdr-counted-not-given", "read-sensors", {}, "ok", /^1 sensor: 1 ok/, 0],
    ["sel-leads-back", "list-sel", {}, "ok", /^2 entries.*1 not read/, 0],
    ["session-forgotten", "power-status", {}, "ok", /^on/, 0],
    ["several-logs", "list-sel", {}, "ok", /^3 entries/, 0],
    ["short-expand", "list-users", {}, "ok", /^4 users/, 0],
    ["task-in-message", "update-firmware", NAMED_TASK, "ok", /1\.4 to 1\.5/, 1],
    ["update-busy", "update-firmware", { ...UPDATE, TARGETS: "BMC" }, "busy", /is not sent again/, 1],
    ["vlan-read-only", "set-bmc-network", { VLAN: "42" }, "verify", /VLANEnable/, 1],
  ])(
    "%s: %s %o ends as it should",
    { timeout: 120_000 },
    async ([name, action, env, end, message, writes]) => {
      await using lab = await launched(name, { speed: 2 });

      const result = await lab.run(action, { TIMEOUT: "100s", ...env });

      expect([result.class ?? "ok", result.message]).toEqual([end, expect.stringMatching(message)]);
      expect(lab.redfish.log.filter((line) => !line.startsWith("GET "))).toHaveLength(writes);
    },
  );
});
