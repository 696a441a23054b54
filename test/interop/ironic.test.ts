import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { listIronic } from "../../cli/inventory/import/ironic.ts";
import { BmcClient } from "../../shared/bmc/client.ts";
import { recordBmc } from "../../shared/bmc/recording/record-bmc.ts";
import { Connection } from "../../shared/contract/connection.ts";
import { silentLogger } from "../../shared/logger.ts";
import { Anonymiser } from "../../shared/recording/anonymise.ts";
import { redactor } from "../../shared/secret-forms.ts";
import { HttpListener } from "../../simulators/http-listener.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { startRecording } from "../../simulators/recorded/start-recording.ts";
import { type RedfishBmc, startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { redfishProfile } from "../../simulators/redfish/profiles.ts";
import { errorOf } from "../shared/bmc/service-lab.ts";
import { EVERY_ACTION_MS, tryEveryAction } from "./compatibility/every-action.ts";
import { type Ironic, LOGIN, startIronic } from "./ironic-server.ts";
import { describeWithPython, installPythonPackages, type PythonPackages } from "./python-packages.ts";

const QUICK = { powerOnMs: 0, powerOffMs: 0, softOffMs: 0 };
const packages = () => installPythonPackages("ironic", ["ironic==39.0.0"]);
const timeoutMs = 60_000;
const limit = () => AbortSignal.timeout(100_000);
const off = { verb: "off", mode: "hard", softTimeoutMs: 10_000, timeoutMs } as const;
const pxeOnce = { device: "pxe", persistent: false, mode: "keep" } as const;

await describeWithPython(packages, "the ironic provider talks to Ironic", tests, { Ironic: "ironic" });

function tests(installed: PythonPackages): void {
  let server: Ironic;
  beforeAll(async () => {
    server = await startIronic(installed);
  });
  afterAll(() => server?.close());

  function clientOf(node: string, options: object = {}, login: object = LOGIN): BmcClient {
    const ironic = { url: server.url, node, auth: "basic", ...options };
    const client = new BmcClient(Connection.parse({ ironic, ...login }));
    onTestFinished(() => client.close());
    return client;
  }

  it("drives a node of fake hardware", async () => {
    await server.manage({ name: "fake-1", driver: "fake-hardware", power_interface: "fake" });
    const client = clientOf("fake-1");

    const down = await client.setPower(off, limit());
    const up = await client.setPower({ verb: "on", timeoutMs }, limit());
    const reset = await client.setPower({ verb: "reset", onIfOff: false, timeoutMs }, limit());
    const boot = await client.setBoot(pxeOnce, limit());
    const disk = await errorOf(client.setBoot({ ...pxeOnce, device: "disk" }, limit()));
    const nmi = await errorOf(client.sendNmi(limit()));
    const led = await client.getIndicator(limit());
    const inventory = await errorOf(client.getHardware(limit()));

    expect([down.after, up.after, reset.after]).toEqual(["off", "on", "on"]);
    expect(boot.after).toMatchObject({ device: "pxe", persistent: false });
    expect([disk.class, nmi.class, inventory.class]).toEqual(["unsupported", "unsupported", "unsupported"]);
    expect(led).toBe("on");
    expect(disk.message).toContain("Invalid boot device disk");
  });

  it("leaves a node in maintenance alone, unless it is allowed", async () => {
    await server.manage({ name: "fake-2", driver: "fake-hardware" });
    await server.call("PUT", "/nodes/fake-2/maintenance", { reason: "new disks" });

    const refused = await errorOf(clientOf("fake-2").setBoot(pxeOnce, limit()));
    const allowed = await clientOf("fake-2", { allow: ["maintenance"] }).setBoot(pxeOnce, limit());

    expect(refused).toMatchObject({
      class: "usage",
      message: expect.stringContaining('in maintenance, "new disks"'),
    });
    expect(allowed.after.device).toBe("pxe");
  });

  it("reports a refused password, and a node that is not there", async () => {
    const refused = await errorOf(clientOf("fake-1", {}, { ...LOGIN, password: "wrong" }).getPower(limit()));
    const missing = await errorOf(clientOf("other").getPower(limit()));

    expect([refused.class, missing.class]).toEqual(["auth", "usage"]);
  });

  it("lists its nodes as machines", async () => {
    const { username: BMC_USERNAME, password: BMC_PASSWORD } = LOGIN;
    const env = { IRONIC_URL: server.url, IRONIC_AUTH: "basic", BMC_USERNAME, BMC_PASSWORD };

    const { machines } = await listIronic(env, "secrets");

    expect(machines.map(({ name }) => name)).toEqual(expect.arrayContaining(["fake-1", "fake-2"]));
  });

  /** A node of Ironic's driver `redfish`, in front of a simulated BMC. */
  async function manageRedfish(name: string, machine: SimulatedMachine): Promise<RedfishBmc> {
    const generic = redfishProfile("generic");
    const bmc: RedfishBmc = await startRedfishBmc({
      tls: "http",
      machines: [machine],
      // What Ironic reads.
      profile: { ...generic, indicator: "led" },
    });
    onTestFinished(() => bmc.close());
    await manageBmc(name, bmc);
    return bmc;
  }

  async function manageBmc(
    name: string,
    { url, username, password, systemPaths }: RedfishBmc,
  ): Promise<void> {
    await server.manage({
      name,
      driver: "redfish",
      driver_info: {
        redfish_address: url,
        redfish_system_id: systemPaths[0],
        redfish_username: username,
        redfish_password: password,
      },
    });
    await server.provision(name, "inspect", "manageable");
  }

  /** Records a BMC and serves the recording. */
  async function startRecorded({ port, username, password }: RedfishBmc): Promise<RedfishBmc> {
    const login = { host: "127.0.0.1", username, password, providers: ["redfish"] };
    const connection = Connection.parse({ ...login, redfish: { port, scheme: "http" } });
    const limits = { requests: 1_000, bytes: 10_000_000, ms: timeoutMs };
    const options = { limits, log: silentLogger, signal: limit(), progress: () => undefined };
    const reading = await recordBmc(connection, options);
    const recording = reading.anonymous(new Anonymiser(redactor({ connection })), connection);
    const running = await startRecording(recording, { tls: "http", machine: QUICK });
    onTestFinished(() => running.close());
    return running.redfish;
  }

  it("carries out each action with its Redfish driver or says why not, and so with a recording of the BMC", {
    // Ironic does one thing after the other.
    timeout: 2 * EVERY_ACTION_MS,
  }, async ({ task }) => {
    const original = await manageRedfish("metal-2", new SimulatedMachine(QUICK));
    await manageBmc("metal-3", await startRecorded(original));
    const tryEach = (node: string) =>
      tryEveryAction({
        provider: "ironic",
        env: {
          ...{ IRONIC_URL: server.url, IRONIC_NODE: node, IRONIC_AUTH: "basic" },
          ...{ BMC_USERNAME: LOGIN.username, BMC_PASSWORD: LOGIN.password },
        },
      });

    const [outcomes, recorded] = await Promise.all([tryEach("metal-2"), tryEach("metal-3")]);

    expect(recorded).toEqual(outcomes);
    task.meta.actions = { server: "Ironic", outcomes };
  });

  it("drives a Redfish machine through Ironic", async () => {
    const machine = new SimulatedMachine({ softOffMs: "never", mode: "legacy" });
    // Ironic serves it itself.
    const images = new HttpListener({ tls: "http" }, () => ({ status: 200, body: "an image" }));
    await images.listen();
    onTestFinished(() => images.close());
    const image = `${images.url}/rescue.iso`;
    await manageRedfish("metal-1", machine);
    const client = clientOf("metal-1");

    const forced = await client.setPower({ ...off, mode: "soft-then-hard", softTimeoutMs: 3_000 }, limit());
    const boot = await client.setBoot({ ...pxeOnce, mode: "uefi" }, limit());
    const inserted = await client.insertMedia(image, limit());
    const ejected = await client.ejectMedia(limit());
    const up = await client.setPower({ verb: "on", timeoutMs }, limit());
    const hardware = await client.getHardware(limit());
    const led = await client.setIndicator(true, limit());
    const secure = await client.setSecureBoot(true, limit());

    expect(forced.summary).toMatch(/forced, still on/);
    expect(boot.after).toEqual({ device: "pxe", persistent: false, mode: "uefi" });
    expect(inserted.after).toEqual({ inserted: true });
    expect(ejected.after).toEqual({ inserted: false });
    expect(up.after).toBe("on");
    expect(machine.lastBoot).toMatchObject({ device: "pxe", mode: "uefi", overridden: true });
    expect([led.after, machine.indicator]).toEqual(["on", "on"]);
    expect(secure.after.enabled).toBe(true);
    expect(hardware.nics.length).toBeGreaterThan(0);
  });
}
