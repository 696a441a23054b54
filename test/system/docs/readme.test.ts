import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { buildImage } from "../../../scripts/images/build-image.ts";
import { containerEngine } from "../../../scripts/images/container-engine.ts";
import { createCertificate, fingerprintOf } from "../../../simulators/certificate.ts";
import { startIpmiBmc } from "../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { startTinkServer, type TinkServer } from "../../../simulators/tink/server.ts";
import { isOver } from "../../../simulators/tink/workflow.ts";
import { codeBlocks } from "../../docs/markdown.ts";
import { buildActionImages } from "../../support/action-images.ts";
import {
  buildTestBase,
  describeWithDocker,
  dockerAnswers,
  dockerCli,
  removeContainers,
  testBaseImage,
} from "../../support/docker.ts";
import { runShell } from "../../support/shell-block.ts";

const ROOT = join(import.meta.dirname, "../../..");
/** Addresses of this process alone, for 192.0.2.0/24. */
const NETWORK = `127.${(process.pid >> 8) & 255}.${process.pid & 255}.`;
const REGISTRY = "registry.example/pbnj-worker";
const CONTAINER = `pbnj-worker-readme-${process.pid}`;
const TIMEOUT_MS = 120_000;

const readme = await readFile(join(ROOT, "README.md"), "utf8");
const blocks = codeBlocks("README.md", readme);
const commands = blocks.filter(({ language }) => language === "sh").map(({ text }) => text);
const [demo, runTemplate, doctorAndStart, startContainer, actionContainer, action, test, ...others] =
  commands;

const certificate = createCertificate({ commonName: "bmc" });
const machine = new SimulatedMachine({ power: "on" });
const closing: (() => unknown)[] = [];
let folder: string;
let tink: TinkServer;
/** Of the host in a network of the engine, so that containers reach it; else on loopback. */
let bmcAddress = `${NETWORK}11`;

/** What the README leaves to the reader: addresses, and the fingerprint that the error prints. */
function adapted(text: string): string {
  return text
    .replaceAll("192.0.2.11", bmcAddress)
    .replaceAll("192.0.2.", NETWORK)
    .replace(/( +)(host: \S+)$/m, `$&\n$1tls: {fingerprint: ${fingerprintOf(certificate)}}`)
    .replaceAll("--name pbnj-worker", `--name ${CONTAINER} --env PBNJ_HTTP_ADDRESS=${NETWORK}1:42180`)
    .replaceAll("docker run --rm", "docker run --rm --network host --env BMC_TLS_FINGERPRINT")
    .replace(/^docker logs .*$/m, "");
}

function shell(text: string, enough?: () => Promise<unknown>) {
  const env = {
    BMC_TLS_FINGERPRINT: fingerprintOf(certificate),
    PBNJ_HTTP_ADDRESS: `${NETWORK}1:42180`,
    PBNJ_STATE_DIRECTORY: join(folder, "worker-state"),
  };
  return runShell(adapted(text), { cwd: folder, env }, enough);
}

async function poweredOn(): Promise<void> {
  machine.do("on");
  await vi.waitFor(() => expect(machine.power).toBe("on"), TIMEOUT_MS);
}

describe.skipIf(process.getuid?.() !== 0)(
  "the README's commands (as root: BMCs have ports below 1024)",
  () => {
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "pbnj-readme-"));
      closing.push(() => rm(folder, { recursive: true }));
      if (dockerAnswers) {
        await dockerCli("network", "create", CONTAINER);
        closing.push(() => dockerCli("network", "rm", CONTAINER));
        bmcAddress = await dockerCli(
          ...["network", "inspect", "--format", "{{(index .IPAM.Config 0).Gateway}}", CONTAINER],
        );
      }
      for (const name of ["actions", "cli", "examples", "node_modules", "package.json", "shared", "worker"]) {
        await symlink(join(ROOT, name), join(folder, name));
      }
      await writeFile(join(folder, "bmc-password"), "calvin\n", { mode: 0o600 });
      for (const { text } of blocks) {
        const [, name] = /^# (\S+\.yaml)\n/.exec(text) ?? [];
        if (name) await writeFile(join(folder, name), adapted(text));
      }
      const redfish = await startRedfishBmc({
        ...{ machines: [machine], host: bmcAddress, port: 443, tls: certificate },
      });
      const ipmi = await startIpmiBmc({
        ...{ machine: new SimulatedMachine({ power: "off" }), host: `${NETWORK}12`, port: 623 },
      });
      tink = await startTinkServer({ host: `${NETWORK}1`, port: 42113 });
      closing.push(
        () => redfish.close(),
        () => ipmi.close(),
        () => tink.close(),
      );
    });
    afterAll(async () => {
      for (const close of closing.reverse()) await close();
    });

    it("are these, and no others, and CI runs the first and the last", async () => {
      const ci = await readFile(join(ROOT, ".ci/run"), "utf8");

      expect([demo, test]).toEqual(["npm ci && npm run demo\n", "npm ci && npm test\n"]);
      expect(others).toEqual([]);
      for (const line of [demo, test]) expect(ci.split("\n")).toContain(`(${line?.trim()})`);
    });

    it("run a template without a tink server", async () => {
      const { output, exitCode } = await shell(runTemplate ?? "");

      expect(exitCode, output).toBe(0);
      expect(machine.power).toBe("on");
      expect(machine.lastBoot).toMatchObject({ device: "pxe", overridden: true });
    });

    it("check everything, and start a worker that polls", async () => {
      const [doctor = "", start = ""] = (doctorAndStart ?? "").trim().split("\n");
      const checked = await shell(doctor);
      const polled = () => vi.waitFor(() => expect(tink.polls).toContain("pbnj-node-01"), TIMEOUT_MS);

      const { output } = await shell(start, polled);

      expect(checked.exitCode, checked.output).toBe(0);
      expect(output).toContain("worker started");
    });

    it("run one action", async () => {
      await poweredOn();

      const { output, exitCode } = await shell(action ?? "");

      expect(exitCode, output).toBe(0);
      expect(machine.power).toBe("off");
    });

    describeWithDocker("with containers", () => {
      beforeAll(async () => {
        await buildTestBase();
        await buildActionImages(REGISTRY, ["power-off", "power-on", "set-pxe-once"], "v0.1.0");
        const bases = { nodeImage: testBaseImage, baseImage: testBaseImage };
        await buildImage(containerEngine("docker"), {
          ...{ tag: `${REGISTRY}/worker:v0.1.0`, dockerfile: "Dockerfile.worker", bases, version: "0.1.0" },
        });
        closing.push(() => removeContainers(CONTAINER));
      }, 300_000);

      it("run one action, with a password file that only its owner can read", async () => {
        await poweredOn();

        const { output, exitCode } = await shell(actionContainer ?? "");

        expect(exitCode, output).toBe(0);
        expect(machine.power).toBe("off");
      });

      it("say how to make a password file readable", async () => {
        const { output, exitCode } = await shell((actionContainer ?? "").replace('--user "$(id -u)"', ""));

        expect(exitCode).toBe(2);
        expect(output).toContain("start the container with --user and the ID of the file's owner");
      });

      it("start a worker that runs the README's template", async () => {
        const template = blocks.find(({ text }) => text.startsWith("version:"))?.text ?? "";
        const workflow = tink.submit({ template, values: { machine: "node-01" } });

        const { output, exitCode } = await shell(startContainer ?? "");
        expect(exitCode, output).toBe(0);
        await tink.until(() => isOver(workflow), TIMEOUT_MS);

        expect(workflow.state, JSON.stringify(tink.reports.at(-1))).toBe("SUCCESS");
        expect(machine.power).toBe("on");
      });
    });
  },
);
