import { mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { startTinkServer, type TinkServer } from "../../../simulators/tink/server.ts";
import { CommandInProcess } from "../../support/command-in-process.ts";
import {
  buildScriptedImage,
  describeWithDocker,
  dockerSocketPath,
  scriptedImage,
} from "../../support/docker.ts";

/** Templates of adversaries, against a running worker. */

const CANARY = "canary-41f0e";
const OWN = "registry.example/pbnj-worker";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pbnj-attacks-"));
});
afterAll(() => rm(folder, { recursive: true }));

interface Step {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
}

/** How an action of that text ended, as reported to the server. */
async function run(server: TinkServer, step: Step): Promise<string> {
  const actions = [{ name: "attack", timeout: 60, ...step }];
  const tasks = [{ name: "t", worker: "pbnj-node-1", actions }];
  const template = JSON.stringify({ version: "0.1", name: "t", global_timeout: 600, tasks });
  const workflow = server.submit({ template });
  await server.until(() => ["SUCCESS", "FAILED"].includes(workflow.state));
  server.board.delete(workflow);
  return `${workflow.state}: ${workflow.tasks[0]?.actions[0]?.message}`;
}

test("variables and flags that are not inputs reach neither action nor BMC", async () => {
  const machine = new SimulatedMachine({ name: "node-1", power: "on" });
  const bmc = await startRedfishBmc({ machines: [machine], tls: "http", password: CANARY });
  await using server = { value: await startTinkServer({ holdMs: 2_000 }), [Symbol.asyncDispose]: close };
  async function close() {
    await server.value.close();
    await bmc.close();
  }
  await writeFile(join(folder, "password"), CANARY);
  const credentials = { username: bmc.username, passwordFile: join(folder, "password") };
  const redfish = { port: bmc.port, scheme: "http" };
  const machines = [{ name: "node-1", host: bmc.host, providers: ["redfish"], redfish, credentials }];
  await writeFile(join(folder, "inventory.yaml"), JSON.stringify({ machines }));
  await writeFile(join(folder, "policy.yaml"), JSON.stringify({ ownConnections: "deny" }));
  await using worker = new CommandInProcess([
    ...["start", "--grpc-server", server.value.address, "--inventory", join(folder, "inventory.yaml")],
    ...["--policy", join(folder, "policy.yaml"), "--log-level", "debug"],
  ]);
  const image = `${OWN}/power-off:v1`;
  const attack = (environment: Readonly<Record<string, string>>, command: readonly string[] = []) =>
    run(server.value, { image, environment, command });
  const thief = `data:text/javascript,process.stdin.on("data",(d)=>console.error([...String(d)].reverse().join("")))`;

  const said = [
    await attack({ NODE_OPTIONS: `--import=${encodeURI(thief)}` }),
    await attack({ LOCALDOMAIN: "evil.example", RES_OPTIONS: "ndots:9" }),
    await attack({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9", OTEL_EXPORTER_OTLP_HEADERS: "a=b" }),
    await attack({ MDOE: "hard" }),
    await attack({ "--bmc-host": "" }, ["--bmc-host", "127.0.0.1"]),
  ];
  const heard = bmc.log.length;
  const honest = await attack({ MODE: "hard" });

  expect(said).toEqual([
    expect.stringContaining("policy environment: NODE_OPTIONS is not an input of power-off"),
    expect.stringMatching(
      /policy environment: LOCALDOMAIN is not .*; RES_OPTIONS is not an input of power-off/,
    ),
    expect.stringMatching(
      /policy environment: OTEL_EXPORTER_OTLP_ENDPOINT is not .*OTLP_HEADERS is not an input/,
    ),
    "FAILED: attack failed (usage): policy environment: MDOE is not an input of power-off: did you mean MODE?",
    expect.stringContaining('policy environment: "--bmc-host" is not the name of a variable'),
  ]);
  expect(heard).toBe(0);
  expect(honest).toMatch(/^SUCCESS: off after .* \(forced\)/);
  expect(worker.stderr + JSON.stringify(server.value.reports)).not.toContain([...CANARY].reverse().join(""));
});

describeWithDocker("an image that is not trusted", () => {
  beforeAll(buildScriptedImage, 300_000);

  test("has nothing on its stdin, no password is read for it, and its result about the BMC is not trusted", {
    timeout: 60_000,
  }, async () => {
    const server = await startTinkServer({ holdMs: 2_000 });
    const place = await mkdtemp(join(folder, "docker-"));
    const path = (name: string) => join(place, name);
    // A vault that notes each time it is asked.
    const vault = `require("fs").writeFileSync(${JSON.stringify(path("asked-"))} + process.pid, ""); console.log(JSON.stringify({ username: "admin", password: "${CANARY}" }))`;
    const credentials = { command: [process.execPath, "--eval", vault] };
    const inventory = { machines: [{ name: "node-1", host: "192.0.2.77", credentials }] };
    await writeFile(path("inventory.yaml"), JSON.stringify(inventory));
    const setPolicy = async (policy: object) => {
      await writeFile(path("new.yaml"), JSON.stringify(policy));
      await rename(path("new.yaml"), path("policy.yaml"));
    };
    const asked = async () => (await readdir(place)).filter((name) => name.startsWith("asked-")).length;
    const images = ["localhost/pbnj-worker/*"];
    await setPolicy({ images, trustedImages: [`${OWN}/*`] });
    await using worker = new CommandInProcess([
      ...["start", "--grpc-server", server.address, "--inventory", path("inventory.yaml")],
      ...["--policy", path("policy.yaml"), "--reload-interval", "50ms", "--runtime", "docker"],
      ...["--docker-socket", dockerSocketPath, "--pull-policy", "never", "--docker-network", "none"],
    ]);
    const step = { image: scriptedImage, command: ["env", "host"] };

    const result = { action: "scripted", ok: true, message: "planted", durationMs: 1, roundTrips: 0 };
    const planting = {
      image: scriptedImage,
      command: [`result:${JSON.stringify({ ...result, hint: { system: "/evil" } })}`],
    };

    const untrusted = await run(server, step);
    const planted = await run(server, planting);
    const askedFirst = await asked();
    const withVariable = await run(server, { ...step, environment: { NODE_OPTIONS: "--inspect" } });
    await setPolicy({ images });
    await worker.untilLogged("policy reload failed, keeping the last valid one");
    const still = await run(server, step);
    const askedSecond = await asked();
    await setPolicy({ images, trustedImages: ["localhost/pbnj-worker/scripted"] });
    await worker.untilLogged("policy reloaded");
    const trusted = await run(server, step);
    await run(server, planting);
    const afterTrusted = await run(server, step);
    // It removes its containers.
    worker.kill("SIGTERM");
    await worker.ended;

    expect([untrusted, still]).toEqual([
      expect.stringMatching(/^FAILED: .*Unexpected end of JSON input/),
      expect.stringMatching(/^FAILED: .*Unexpected end of JSON input/),
    ]);
    expect([askedFirst, askedSecond]).toEqual([0, 0]);
    expect(withVariable).toContain("policy environment: NODE_OPTIONS is not allowed for this image");
    expect(planted).toBe("SUCCESS: planted");
    expect(trusted).toBe("SUCCESS: reached 192.0.2.77");
    expect(afterTrusted).toBe('SUCCESS: reached 192.0.2.77 with the hint {"system":"/evil"}');
    expect(await asked()).toBeGreaterThan(0);
    expect(worker.stderr).not.toContain(CANARY);
    await server.close();
  });
});
