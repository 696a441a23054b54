import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it, onTestFinished } from "vitest";
import { BmcClient } from "../../shared/bmc/client.ts";
import { Connection } from "../../shared/contract/connection.ts";
import { Secret } from "../../shared/secret.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { type RedfishBmcOptions, startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { EVERY_ACTION_MS } from "./compatibility/every-action.ts";
import { describeWithPython, installPythonPackages, type PythonPackages } from "./python-packages.ts";
import { tryRecordedActions } from "./recorded-peer.ts";
import { runFakeEmulator } from "./sushy-emulator.ts";

const sushy = () => installPythonPackages("sushy", ["sushy==5.14.0", "sushy-tools==2.2.0"]);
const SLOW_TEST_MS = 120_000;
const SYSTEM = "27946b59-9e44-4fa7-8e91-f3527a1ef094";

async function startEmulator(packages: PythonPackages): Promise<{ port: number }> {
  const emulator = await runFakeEmulator(packages);
  onTestFinished(emulator.close);
  return emulator;
}

/** Serves any image to who logs in. */
async function startImageServer(username: string, password: string) {
  const login = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  const taken: string[] = [];
  const server = createServer(({ url = "/", headers }, response) => {
    const isKnown = headers.authorization === login;
    if (isKnown) taken.push(url);
    response.writeHead(isKnown ? 200 : 401);
    response.end("image");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, taken };
}

function clientOf(port: number, more: Readonly<Record<string, unknown>> = {}): BmcClient {
  const connection = Connection.parse({
    host: "127.0.0.1",
    username: "admin",
    password: "calvin",
    providers: ["redfish"],
    redfish: { port, scheme: "http" },
    ...more,
  });
  const client = new BmcClient(connection);
  onTestFinished(() => client.close());
  return client;
}

const SCRIPT = join(import.meta.dirname, "sushy_client.py");
const limit = () => AbortSignal.timeout(SLOW_TEST_MS);
const timeoutMs = 60_000;

const EMULATOR = { "sushy-tools (fake)": "sushy-tools" };
await describeWithPython(
  sushy,
  "the redfish provider talks to sushy-tools' emulator",
  emulatorTests,
  EMULATOR,
);
await describeWithPython(sushy, "sushy drives the Redfish simulator", clientTests, { sushy: "sushy" });

function emulatorTests(installed: PythonPackages): void {
  it(
    "powers its machine on and off, verified",
    async () => {
      const { port } = await startEmulator(installed);
      const client = clientOf(port);

      expect(await client.getPower(limit())).toBe("off");
      expect(await client.setPower({ verb: "on", timeoutMs }, limit())).toMatchObject({ after: "on" });
      const off = { verb: "off", mode: "soft-then-hard", softTimeoutMs: 30_000, timeoutMs } as const;
      expect(await client.setPower(off, limit())).toMatchObject({ after: "off", changed: true });
    },
    SLOW_TEST_MS,
  );

  it("sets a lasting boot override and finds it as it was set", async () => {
    const { port } = await startEmulator(installed);
    const client = clientOf(port);
    const request = { device: "pxe", persistent: true, mode: "uefi" } as const;

    expect((await client.setBoot(request, limit())).after).toEqual(request);
    expect(await client.getBoot(limit())).toEqual(request);
  });

  it("says that a one-time override stays", async () => {
    const { port } = await startEmulator(installed);
    const client = clientOf(port);

    const report = await client.setBoot({ device: "cdrom", persistent: false, mode: "uefi" }, limit());

    expect(report).toEqual({
      after: { device: "cdrom", persistent: true, mode: "uefi" },
      changed: true,
      summary: "boot cdrom persistent (uefi): the BMC keeps one-time overrides",
    });
  });

  it("finds the system by its Id and by its path, and lists the valid names if the name is unknown", async () => {
    const { port } = await startEmulator(installed);
    const powerOf = (system: string) =>
      clientOf(port, { redfish: { port, scheme: "http", system } }).getPower(limit());

    expect(await powerOf(SYSTEM)).toBe("off");
    expect(await powerOf(`/redfish/v1/Systems/${SYSTEM}`)).toBe("off");
    await expect(powerOf("another")).rejects.toMatchObject({
      class: "usage",
      message: expect.stringContaining(SYSTEM),
    });
  });

  it("inserts a CD and a USB stick that need a login at the image server", {
    timeout: SLOW_TEST_MS,
  }, async () => {
    const { port } = await startEmulator(installed);
    const images = await startImageServer("images", "canary-images");
    const client = clientOf(port);
    const credentials = { username: "images", password: new Secret("canary-images") };
    const [iso, img] = [`${images.url}/x.iso`, `${images.url}/x.img`];

    const refused = client.insertMedia(iso, limit());
    await expect(refused).rejects.toMatchObject({ class: expect.stringMatching(/^(bmc|verify|busy)$/) });
    const cd = await client.insertMedia(iso, limit(), { credentials });
    const stick = await client.insertMedia(img, limit(), { credentials });

    expect(cd.after).toEqual({ inserted: true, image: iso });
    expect(stick.after).toEqual({ inserted: true, image: img, drive: "Floppy", writeProtected: true });
    expect(images.taken).toEqual(["/x.iso", "/x.img"]);
    expect((await client.listMedia(limit())).drives).toMatchObject([
      { name: "Cd", types: ["CD", "DVD"], inserted: true, image: iso },
      { name: "Floppy", types: ["Floppy", "USBStick"], inserted: true, image: img },
    ]);
    expect(await client.ejectMedia(limit(), { name: "floppy" })).toMatchObject({
      after: { inserted: false, drive: "Floppy" },
    });
    expect(await client.getMedia(limit())).toEqual({ inserted: true, image: iso });
  });

  it("names a refused password as such", async () => {
    const { port } = await startEmulator(installed);

    const reading = clientOf(port, { password: "wrong" }).getPower(limit());

    await expect(reading).rejects.toMatchObject({ class: "auth" });
  });

  it("carries out each action or says why not, and so does its recording", {
    timeout: EVERY_ACTION_MS,
  }, async ({ task }) => {
    const { port } = await startEmulator(installed);
    const outcomes = await tryRecordedActions({
      provider: "redfish",
      env: {
        ...{ BMC_HOST: "127.0.0.1", BMC_USERNAME: "admin", BMC_PASSWORD: "calvin", BMC_PROVIDERS: "redfish" },
        ...{ REDFISH_PORT: String(port), REDFISH_SCHEME: "http" },
      },
    });

    task.meta.actions = { server: "sushy-tools (fake)", outcomes };
  });
}

function clientTests({ python }: PythonPackages): void {
  async function drive(
    mode: "basic" | "session",
    steps: readonly string[],
    options: RedfishBmcOptions = {},
    password = "calvin",
  ) {
    const machine = new SimulatedMachine({ power: "off", powerOnMs: 0, powerOffMs: 0 });
    const bmc = await startRedfishBmc({ machines: [machine], tls: "http", ...options });
    onTestFinished(() => bmc.close());
    const argv = [SCRIPT, bmc.url, bmc.username, password, mode, bmc.systemPaths[0] ?? "", ...steps];
    const { stdout } = await execa(python, argv, { timeout: 30_000, stdin: "ignore" });
    return { results: JSON.parse(stdout), machine, bmc };
  }

  describe.each(["basic", "session"] as const)("with %s authentication", (mode) => {
    it("reads and changes power", async () => {
      const steps = ["power", "reset:On", "power", "reset:ForceRestart", "reset:ForceOff", "power"];

      const { results, machine, bmc } = await drive(mode, steps);

      expect(results).toEqual(["Off", null, "On", null, null, "Off"]);
      expect(machine.commands.map(({ action }) => action)).toEqual(["on", "reset", "off"]);
      expect(bmc.sessions.count).toBe(0);
      expect(bmc.log.includes("POST /redfish/v1/SessionService/Sessions")).toBe(mode === "session");
    });

    it("sets a boot override and reads it back", async () => {
      const { results, machine } = await drive(mode, ["boot", "boot:Pxe:Once:UEFI", "boot"]);

      expect(results).toEqual([["None", "Disabled", "UEFI"], null, ["Pxe", "Once", "UEFI"]]);
      expect(machine.override).toEqual({ device: "pxe", enabled: "once", mode: "uefi" });
    });
  });

  it.each(["dell-idrac9", "hpe-ilo5", "openbmc", "lenovo-xcc"])(
    "gets along with the profile %s",
    async (profile) => {
      const { results } = await drive("basic", ["reset:On", "power"], { profile });

      expect(results).toEqual([null, "On"]);
    },
  );

  it.each(["basic", "session"] as const)("is refused with a wrong password: %s", async (mode) => {
    await expect(drive(mode, ["power"], {}, "wrong")).rejects.toMatchObject({
      stderr: expect.stringContaining("AccessError"),
    });
  });
}
