import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { REPORTS } from "../../../scripts/tested-hardware.ts";
import { systemClock } from "../../../shared/clock.ts";
import { readRecording } from "../../../shared/recording/read-recording.ts";
import { parseRecording, type Recording } from "../../../shared/recording/recording.ts";
import { type StartRecordingOptions, startRecording } from "../../../simulators/recorded/start-recording.ts";
import { resultOf, runAction } from "../../actions/action-run.ts";
import { expectReport } from "./report.ts";

const FOLDER = join(import.meta.dirname, "../../recordings");
const MEDIA = { MEDIA_URL: "http://192.0.2.1/x.iso" };
const UPDATE = { FIRMWARE_URI: "http://192.0.2.1/bmc-1.3.0.bin", TARGETS: "BMC" };
const SYSTEM = "/redfish/v1/Systems/1";

async function started(source: string | Recording, options: StartRecordingOptions = {}) {
  const path = typeof source === "string" ? join(FOLDER, `${source}.json`) : source;
  const running = await startRecording(path, { tls: "http", ...options });
  onTestFinished(() => running.close());
  const { port, url } = running.redfish;
  const login = `Basic ${Buffer.from(`${running.username}:${running.password}`).toString("base64")}`;
  return {
    ...running,
    send: (path: string, init: RequestInit = {}) =>
      fetch(url + path, { ...init, headers: { authorization: login, "content-type": "application/json" } }),
    run: async (action: string, env: Readonly<Record<string, string>> = {}) => {
      const connection = {
        ...{ BMC_HOST: "127.0.0.1", BMC_USERNAME: running.username, BMC_PASSWORD: running.password },
        ...{ BMC_PROVIDERS: "redfish", REDFISH_SCHEME: "http", REDFISH_PORT: String(port) },
      };
      return resultOf(await runAction(action, { env: { ...connection, ...env }, clock: systemClock }));
    },
  };
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

  it.each([
    ["licence-refused", "get-secure-boot", {}, { ok: false, class: "unsupported", message: /DCMS/ }, 0],
    ["boot-without-override", "get-boot-device", {}, { ok: false, class: "unsupported", message: /boot/ }, 0],
    ["media-action-without-target", "insert-virtual-media", MEDIA, { ok: true, message: /inserted/ }, 1],
    [
      "no-media-members",
      "insert-virtual-media",
      MEDIA,
      { ok: false, class: "unsupported", message: /no virtual drive/ },
      0,
    ],
    ["no-systems", "power-status", {}, { ok: false, class: "unsupported", message: /system/ }, 0],
    ["not-ready", "power-status", {}, { ok: true, message: /^on/ }, 0],
    ["power-not-shown", "power-status", {}, { ok: true, message: /^unknown/ }, 0],
    ["update-busy", "update-firmware", UPDATE, { ok: false, class: "busy", message: /unavailable/ }, 1],
    ["ntp-of-dhcp-listed", "set-ntp", { NTP_SERVERS: "9.3.1.2" }, { message: /9\.3\.1\.2/ }, 1],
    ["vlan-read-only", "set-bmc-network", { VLAN: "42" }, { ok: false, message: /VLANEnable/ }, 1],
    ["odd-sensors", "read-sensors", {}, { ok: true, message: /4 sensors/ }, 0],
  ])(
    "%s: %s ends as it should",
    { timeout: 60_000 },
    async (name, action, env, { message, ...expected }, writes) => {
      const { run, redfish } = await started(name, { speed: 2 });

      const result = await run(action, { TIMEOUT: "40s", ...env });

      expect(result).toMatchObject({ ...expected, message: expect.stringMatching(message) });
      expect(redfish.log.filter((line) => !line.startsWith("GET "))).toHaveLength(writes);
    },
  );
});
