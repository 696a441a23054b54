import { readdir, readFile } from "node:fs/promises";
import { Agent, request } from "undici";
import { describe, expect, it, vi } from "vitest";
import { createCertificate, fingerprintOf } from "../../../simulators/certificate.ts";
import { FakeCluster } from "../../../simulators/kubernetes/cluster.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { startCollector } from "../../../simulators/otlp/collector.ts";
import { startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { startTinkServer } from "../../../simulators/tink/server.ts";
import { isOver } from "../../../simulators/tink/workflow.ts";
import { ManualHost, NETWORK } from "../../docs/manual-host.ts";
import { codeBlocks } from "../../docs/markdown.ts";
import { buildActionImages } from "../../support/action-images.ts";
import { describeWithDocker } from "../../support/docker.ts";
import { templateOf } from "../../support/lab.ts";

const FOLDER = "docs/how-to";
/** Pages whose commands, marked with their exit code, a test of their own runs. */
const OWN_TESTS = { "back-up-and-restore.md": "operating", "write-templates.md": "templates" };
/** Followed literally, in a copy of this host and in a cluster. */
const IN_A_HOST = {
  "install-with-compose.md": "install/pages",
  "install-with-helm.md": "kubernetes/helm-page",
  "install-with-systemd.md": "install/pages",
};
/** Whatever a page's worker polls for. */
const INVENTORY = `machines: [{name: node-1, host: ${NETWORK}11}]\n`;
const TRACED = "docs/how-to/trace-actions.md";

const pages = await Promise.all(
  (await readdir(FOLDER)).map(async (name) => {
    const page = await readFile(`${FOLDER}/${name}`, "utf8");
    return { name, page, blocks: codeBlocks(`${FOLDER}/${name}`, page) };
  }),
);
const withCommands = pages.filter(
  ({ name, blocks }) =>
    !(name in OWN_TESTS) && !(name in IN_A_HOST) && blocks.some(({ language }) => language === "sh"),
);

const startTink = (host: AsyncDisposableStack) =>
  startTinkServer({ host: `${NETWORK}1`, port: 42113 }).then((server) => {
    host.defer(() => server.close());
    return server;
  });

/** What a page needs beside its commands, or what its commands must have done. Commands that are left run afterwards. */
const STORIES: Readonly<Record<string, (host: ManualHost, open: AsyncDisposableStack) => Promise<void>>> = {
  async "create-certificates.md"(host, open) {
    await startTink(open);
    await host.write("/etc/pbnj-worker/inventory.yaml", INVENTORY);
    for (const name of ["0.0.0.0", "worker.example.org"]) {
      for (const port of [42180, 50051]) host.replace(`${name}:${port}`, `${NETWORK}10:${port}`);
    }
    for (const _ of ["the worker's", "a client's", "install them"]) await host.run();

    await host.run({
      async during() {
        expect(await host.run()).toMatch(/"code":"not_found"/);
      },
    });
  },

  async "discover-bmcs.md"(host, open) {
    const bmc = open.use(await startRedfishBmc({ host: `${NETWORK}33` }));
    host.replace("pbnj-worker discover", `pbnj-worker discover --redfish-port ${bmc.port}`);

    expect(await host.run()).toContain(bmc.fingerprint);
    expect(await host.run()).toContain("wrote 1 machine to discovered.yaml");

    expect(await host.read("discovered.yaml")).toMatch(/passwordFile: \S+\/secrets\/rack-password\n/);

    await host.run();
    expect(await host.read("machines.yaml")).toMatch(/kubectl create secret .*\n(.*\n)+kind: Hardware\n/);
  },

  async "record-a-bmc.md"(host, open) {
    const bmc = open.use(await startRedfishBmc({ host: `${NETWORK}11`, tls: "http" }));
    const redfish = `redfish: {port: ${bmc.port}, scheme: http}`;
    const credentials = "credentials: {username: admin, passwordFile: bmc-password}";
    await host.write(
      "inventory.yaml",
      `machines:\n  - {name: node-01, host: ${NETWORK}11, providers: [redfish], ${redfish}, ${credentials}}\n`,
    );
    await host.write("bmc-password", "calvin\n");
    host.replace(
      "--bmc-host",
      `--bmc-providers redfish --redfish-scheme http --redfish-port ${bmc.port} --bmc-host`,
    );
  },

  async "correct-drift.md"(host, open) {
    const machine = new SimulatedMachine({ power: "off" });
    const bmc = open.use(await startRedfishBmc({ machines: [machine], host: `${NETWORK}33`, tls: "http" }));
    const page = await host.read("inventory.yaml");
    const redfish = `redfish: {port: ${bmc.port}, scheme: http}`;
    await host.write("inventory.yaml", page.replace("providers:", `${redfish}\n    providers:`));
    await host.write("secrets/bmc-password", "calvin\n");

    await expect(host.run()).rejects.toThrow(/ended with 3:\n[\s\S]*"field":"ntp"/);
    expect(machine.commands).toEqual([]);
    expect(await host.run()).toContain('"state":"corrected"');

    expect(machine.power).toBe("on");
    expect(machine.bios.attributes).toMatchObject({ NumCores: 8 });
  },

  async "find-defects.md"(host) {
    // With `--list`, names and flags are read and nothing is attacked: a run takes minutes, or the hour of the page.
    host.replace("npm run attack -- --only", "npm run attack -- --list --only");
  },

  async "reduce-workflow-delay.md"(host) {
    expect((await host.run()).trim().split(/\s*\n\s*/)).toEqual([
      "2 SUCCESS pbnj-node-1",
      "1 FAILED pbnj-node-2",
    ]);
    expect(await host.run()).toBe("deleted old");
  },

  async "run-the-first-rack.md"(host, open) {
    const racks = [11, 12].map((last) => ({
      host: `${NETWORK}${last}`,
      machine: new SimulatedMachine({ power: "on" }),
    }));
    for (const { host: address, machine } of racks) {
      open.use(await startRedfishBmc({ host: address, port: 443, machines: [machine], username: "admin" }));
    }
    const page = pages.find(({ name }) => name === "run-the-first-rack.md");
    const csv = page?.blocks.find(({ language }) => language === "csv")?.text ?? "";
    await host.write("machines.csv", csv.replaceAll("192.0.2.", NETWORK));
    expect(await host.run()).toMatch(/node-1 +\S+ +redfish,ipmi +rack=r12,role=worker\nnode-2/);
    for (const name of ["node-1", "node-2"]) await host.write(`secrets/${name}/password`, "calvin\n");

    expect(await host.run()).toMatch(/node-1 +ok .*on/);
    const limits = page?.blocks.find(({ text }) => text.startsWith("limits:"))?.text ?? "";
    await host.write("inventory.yaml", `${await host.read("inventory.yaml")}${limits}`);
    await host.run();

    expect(racks.map(({ machine }) => machine.power)).toEqual(["on", "off"]);
  },

  async "run-replicas.md"(host, open) {
    await startTink(open);
    const cluster = open.use(await FakeCluster.start());
    await host.write("kubeconfig", cluster.kubeconfig());
    await host.write("policy.yaml", "trustedImages: [registry.example/pbnj-worker/*]\n");
    await host.write("inventory.yaml", INVENTORY);
    await host.run({
      during: () =>
        vi.waitFor(() => {
          const lease = cluster.get("coordination.k8s.io/v1", "Lease", "pbnj-worker", "default");
          expect(lease?.["spec"]).toMatchObject({ holderIdentity: expect.stringMatching(/_[0-9a-f]{8}$/) });
        }, 30_000),
    });
  },

  async "serve-pbnj.md"(host, open) {
    const tls = createCertificate({ commonName: "worker", altNames: [`${NETWORK}1`] });
    const machines = [new SimulatedMachine({ power: "on" })];
    const bmc = open.use(await startRedfishBmc({ machines, host: `${NETWORK}21`, tls }));
    await host.write("/etc/pbnj-worker/worker.crt", tls.cert);
    await host.write("/etc/pbnj-worker/worker.key", tls.key);
    await host.write("ca.crt", tls.cert);
    await host.write("/etc/pbnj-worker/password", "calvin\n");
    const entry = {
      ...{ name: "rack1-node1", host: `${NETWORK}21`, redfish: { port: bmc.port } },
      ...{ tls: { fingerprint: fingerprintOf(tls) }, providers: ["redfish"] },
      credentials: { username: "root", passwordFile: "password" },
    };
    await host.write("/etc/pbnj-worker/inventory.yaml", JSON.stringify({ machines: [entry] }));
    for (const name of ["0.0.0.0", "worker.example.org"]) {
      host.replace(`${name}:50051`, `${NETWORK}1:50051`);
    }

    await host.run({
      async during() {
        await host.run();
        expect(await host.run()).toMatch(/\{"taskId":"[^"]+"\}/);
      },
    });
  },

  async "serve-the-status-page.md"(host, open) {
    await startTink(open);
    const { cert, key } = createCertificate({ commonName: "worker" });
    await host.write("/etc/pbnj-worker/worker.crt", cert);
    await host.write("/etc/pbnj-worker/worker.key", key);
    await host.write("/etc/pbnj-worker/inventory.yaml", INVENTORY);
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
    const ask = async (headers: Readonly<Record<string, string>>) =>
      (await request(`https://${NETWORK}1:42180/`, { dispatcher, headers })).statusCode;

    await host.run({
      async during() {
        const token = (await host.read("/etc/pbnj-worker/http-token")).trim();
        expect(await ask({})).toBe(401);
        expect(await ask({ authorization: `Bearer ${token}` })).toBe(200);
      },
    });
    await dispatcher.destroy();
  },

  async "trace-actions.md"(host, open) {
    const tink = await startTink(open);
    const collector = open.use(await startCollector());
    host.replace("http://127.0.0.1:4318", collector.endpoint);
    await host.write(
      "/etc/pbnj-worker/worker.yaml",
      `grpcServer: ${NETWORK}1:42113\nagentId: [pbnj-node-1]\n`,
    );
    const workflow = tink.submit({ template: templateOf("pbnj-node-1", { name: "power-status" }) });

    await host.run({ during: () => tink.until(() => isOver(workflow), 30_000) });

    expect(collector.spans.length).toBeGreaterThan(0);
    // The other one runs below, with an engine.
    host.commands.pop();
  },
};

describe("every block of the how-to pages", () => {
  it("is a command that runs here or in the page's own test, its output, or a file that test/docs parses", async () => {
    for (const { name, page, blocks } of pages) {
      const outputs = blocks.flatMap(({ output }) => output ?? []);
      const others = blocks.filter(
        ({ language }) => !["sh", "yaml", "json", "csv", "mermaid", "ts"].includes(language),
      );

      expect(page.match(/^\s*```/gm)?.length ?? 0, name).toBe(2 * blocks.length);
      expect(others.map(({ text }) => text)).toEqual(outputs);
    }
    for (const [name, test] of Object.entries(OWN_TESTS)) {
      const { blocks = [] } = pages.find((page) => page.name === name) ?? {};
      const commands = blocks.filter(({ language }) => language === "sh");

      expect(await readFile(`test/system/docs/${test}.test.ts`, "utf8")).toContain(`"${FOLDER}/${name}"`);
      expect(commands.filter(({ exitCode }) => exitCode === undefined)).toEqual([]);
    }
    for (const [name, test] of Object.entries(IN_A_HOST)) {
      expect(await readFile(`test/interop/${test}.test.ts`, "utf8")).toContain(`"${FOLDER}/${name}"`);
    }
    expect(withCommands.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(STORIES)));
  });
});

describe("the commands", () => {
  it.each(withCommands)("of $name do what the page says", async ({ name }) => {
    await using open = new AsyncDisposableStack();
    const host = open.use(await ManualHost.open(`${FOLDER}/${name}`));

    await STORIES[name]?.(host, open);

    while (host.commands.length > 0) await host.run();
  });

  describeWithDocker("with containers", () => {
    it("trace one action", async () => {
      await buildActionImages("registry.example/pbnj-worker", ["power-status"], "v0.1.0");
      await using open = new AsyncDisposableStack();
      const host = open.use(await ManualHost.open(TRACED));
      const collector = open.use(await startCollector());
      const tls = createCertificate({ commonName: "bmc" });
      const bmc = open.use(
        await startRedfishBmc({
          ...{ machines: [new SimulatedMachine({ power: "on" })], host: `${NETWORK}21`, tls },
        }),
      );
      const parent = "4bf92f3577b34da6a3ce929d0e0e4736";
      host.env = {
        BMC_TLS_FINGERPRINT: fingerprintOf(tls),
        REDFISH_PORT: String(bmc.port),
        TRACEPARENT: `00-${parent}-00f067aa0ba902b7-01`,
      };
      host.replace("http://192.0.2.10:4318", collector.endpoint);
      host.replace(
        "docker run --rm",
        "docker run --rm --network host --env BMC_TLS_FINGERPRINT --env REDFISH_PORT",
      );
      await host.write("bmc-password", "calvin\n");
      host.commands.shift();

      await host.run();

      expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([parent]));
    }, 300_000);
  });
});
