import { readFile, writeFile } from "node:fs/promises";
import { expect, test, vi } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";
import { isOver } from "../../../simulators/tink/workflow.ts";
import { startRack } from "../../cli/discover/discover-lab.ts";
import { runProgram } from "../../cli/program.ts";
import { codeBlocks } from "../../docs/markdown.ts";
import { type ClusterLabOptions, type clusterLab, PASSWORD } from "./cluster-lab.ts";
import { IN_TIME, TEST, WITHIN_MS } from "./cluster-scenarios.ts";

const PAGE = "docs/how-to/write-templates.md";
const KubeObject = z.looseObject({
  apiVersion: z.string(),
  kind: z.enum(["Machine", "Hardware"]),
  metadata: z.looseObject({ name: z.string() }),
});
const RESOURCES = { Machine: "machines", Hardware: "hardware" };

/** The objects of `discover --output rufio` are applied as they are, and then used, in a cluster, real or fake. */
export function itUsesDiscoveredMachines(
  open: (options: ClusterLabOptions) => ReturnType<typeof clusterLab>,
): void {
  test("uses discovered machines without a change, also one that has no Hardware", TEST, async () => {
    await using rack = await startRack();
    await using lab = await open({ machines: 0, inventory: "machines,hardware" });
    const { client, namespace } = lab;
    const redfish = await rack.redfish(2, { username: "admin", password: PASSWORD });
    const ipmi = await rack.ipmi(3, { users: [{ name: "admin", password: PASSWORD }] });
    const password = lab.path("password");
    await writeFile(password, `${PASSWORD}\n`, { mode: 0o600 });
    const credentials = lab.path("credentials.yaml");
    await writeFile(credentials, "credentials:\n  - {username: admin, passwordFile: password}\n");

    const found = await runProgram([
      ...["discover", `${rack.at(2)}-${rack.at(3)}`, "--credentials", credentials, "--trust-on-first-use"],
      ...["--redfish-port", `${rack.ports.redfish}`, "--ipmi-port", `${rack.ports.ipmi}`],
      ...["--amt-port", "1", "--amt-tls-port", "1", "--output", "rufio", "--namespace", namespace],
    ]);

    expect(found.exitCode, found.stderr).toBe(0);
    const secret = "bmc-credentials-1";
    expect(found.stdout).toContain(
      `#   kubectl create secret generic ${secret} --namespace ${namespace} --from-literal=username=admin --from-file=password=${password}\n`,
    );
    const objects = parseAllDocuments(found.stdout)
      .map((document) => document.toJS() as unknown)
      .filter((value) => value !== null)
      .map((value) => KubeObject.parse(value));
    expect(objects.map(({ kind }) => kind)).toEqual(["Machine", "Hardware", "Machine"]);
    await client.create(`/api/v1/namespaces/${namespace}/secrets`, {
      metadata: { name: secret },
      stringData: { username: "admin", password: `${PASSWORD}\n` },
    });
    for (const object of objects) {
      const { apiVersion, kind } = object;
      await client.create(`/apis/${apiVersion}/namespaces/${namespace}/${RESOURCES[kind]}`, object);
    }
    const worker = lab.start([
      ...["--rufio", "--rufio-alone"],
      ...["--rufio-image", "registry.example/pbnj-worker/{action}:{version}"],
    ]);
    await worker.untilLogged("Rufio lease is free, taking over");
    const [withHardware = "", , withoutHardware = ""] = objects.map(({ metadata }) => metadata.name);
    const job = await lab.submitToRufio("off", withHardware, [{ powerAction: "off" }]);
    const workflow = lab.server.submit({ namespace, ...(await applyManual(lab, withoutHardware)) });

    const completed = expect.objectContaining({ type: "Completed", status: "True" });
    await vi.waitFor(
      async () =>
        expect((await job()).status).toMatchObject({ conditions: expect.arrayContaining([completed]) }),
      IN_TIME,
    );
    await lab.server.until(() => isOver(workflow), WITHIN_MS);
    expect(workflow.state).toBe("SUCCESS");
    expect(redfish.machine.power).toBe("off");
    expect(ipmi.machine).toMatchObject({ power: "on", lastBoot: { device: "pxe", overridden: true } });
  });
}

const Template = z.looseObject({ kind: z.literal("Template"), spec: z.object({ data: z.string() }) });
const Workflow = z.looseObject({
  kind: z.literal("Workflow"),
  spec: z.object({ hardwareMap: z.record(z.string(), z.string()) }),
});

/** Applies the manual's Template and Workflow without a Hardware. Resolves to what Tinkerbell's controller renders. */
async function applyManual({ client, namespace }: Awaited<ReturnType<typeof clusterLab>>, machine: string) {
  const written = codeBlocks(PAGE, await readFile(PAGE, "utf8")).map(({ text }) => text);
  const apply = async (kind: "Template" | "Workflow", resource: string) => {
    const block = written.find((text) => text.includes(`kind: ${kind}\n`)) ?? "";
    const object = parse(block.replaceAll("node-1", machine).replaceAll("tink-system", namespace)) as object;
    await client.create(`/apis/tinkerbell.org/v1alpha1/namespaces/${namespace}/${resource}`, object);
    return object;
  };
  const { spec } = Template.parse(await apply("Template", "templates"));
  const { hardwareMap } = Workflow.parse(await apply("Workflow", "workflows")).spec;
  return { template: spec.data, values: hardwareMap };
}
