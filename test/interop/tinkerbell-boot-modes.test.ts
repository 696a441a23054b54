import { readFileSync } from "node:fs";
import { describe, expect, it, test, vi } from "vitest";
import { z } from "zod";
import { Cluster } from "../../worker/kubernetes/client/cluster.ts";
import { KINDS as CLUSTER_KINDS } from "../../worker/kubernetes/client/kinds.ts";
import { clusterLab } from "../system/worker/cluster-lab.ts";

/**
 * The worker beside a whole Tinkerbell, in Rufio's place. `TINK_SERVER` holds the address of its tink server, `KUBECONFIG` the
 * way to its API server, where its controller works as well and no Rufio. Skipped without them.
 */
const server = process.env["TINK_SERVER"];
const kubeconfig = process.env["KUBECONFIG"];
const available = server !== undefined && kubeconfig !== undefined;
const IN_TIME = { timeout: 100_000, interval: 100 };
const ISO = "http://192.0.2.9/install.iso";

const KINDS = { hardware: "Hardware", templates: "Template", workflows: "Workflow" } as const;

interface Mode {
  readonly bootOptions: Readonly<Record<string, unknown>>;
  /** Power commands of the whole workflow. */
  readonly commands: readonly string[];
  readonly boot: Readonly<Record<string, unknown>>;
}

const MODES: Readonly<Record<string, Mode>> = {
  netboot: {
    bootOptions: { bootMode: "netboot" },
    commands: ["off", "on"],
    boot: { device: "pxe", overridden: true },
  },
  isoboot: {
    bootOptions: { bootMode: "isoboot", isoURL: ISO },
    commands: ["off", "on"],
    boot: { device: "cdrom", overridden: true },
  },
  customboot: {
    bootOptions: {
      bootMode: "customboot",
      custombootConfig: {
        preparingActions: [{ powerAction: "cycle" }, { bootDevice: { device: "disk", persistent: true } }],
        postActions: [{ powerAction: "off" }],
      },
    },
    commands: ["cycle", "off"],
    boot: {},
  },
};

describe.runIf(available)("the inventory status of Hardware", () => {
  test("is what the Machine's BMC reports; what only Rufio had read stays", {
    timeout: 240_000,
  }, async () => {
    const real = { kubeconfig: readFileSync(kubeconfig ?? "", "utf8"), hasJobController: false };
    await using lab = await clusterLab({ real });
    const { client, namespace } = lab;
    const collection = `/apis/tinkerbell.org/v1alpha1/namespaces/${namespace}/hardware`;
    const object = { apiVersion: "tinkerbell.org/v1alpha1", kind: "Hardware", metadata: { name: "hw-1" } };
    const bmcRef = { apiGroup: "bmc.tinkerbell.org", kind: "Machine", name: "node-01" };
    await client.create(collection, { ...object, spec: { bmcRef } });
    const access = await Cluster.open({ kubeconfig: kubeconfig ?? "" });
    const outOfBand = { collectionMethod: "gofish", psus: [{ vendor: "Rufio" }], chassis: { model: "old" } };
    const name = { namespace, name: "hw-1" };
    const body = { ...object, metadata: name, status: { attributes: { outOfBand } } };
    const apply = { type: "apply", fieldManager: "machine-controller", subresource: "status" } as const;
    await access.patch(
      CLUSTER_KINDS.hardware,
      name,
      { ...apply, body },
      z.unknown(),
      AbortSignal.timeout(30_000),
    );
    await access.close();

    const worker = lab.start([
      ...[
        "--grpc-server",
        server ?? "",
        "--agent-id-pattern",
        `${namespace}-{machine}`,
        "--rufio",
        "--rufio-alone",
      ],
      ...["--rufio-image", "registry.example/pbnj-worker/{action}:{version}"],
    ]);
    await vi.waitFor(async () => {
      const found = await client.get(`${collection}/hw-1`);
      expect(found, worker.stderr.slice(-1_500)).toMatchObject({
        status: {
          attributes: {
            outOfBand: {
              collectionMethod: "redfish",
              lastUpdated: expect.stringMatching(/^\d{4}-.*Z$/),
              product: { vendor: "Contoso", serialNumber: "CZ00000001" },
              chassis: { vendor: "Contoso", model: "3500", serialNumber: "CH00000001" },
              memory: { modules: Array(3).fill(expect.objectContaining({ sizeBytes: 2 ** 35 })) },
              blockDevices: Array(2).fill(expect.objectContaining({ driveType: "SSD" })),
              // The BMC does not list its power supplies.
              psus: [{ vendor: "Rufio" }],
            },
          },
        },
      });
    }, IN_TIME);
  });
});

describe.runIf(available)("Tinkerbell's boot modes", () => {
  test.each(Object.entries(MODES))(
    "%s works with the worker in Rufio's place",
    { timeout: 240_000 },
    async (_, wanted) => {
      const real = { kubeconfig: readFileSync(kubeconfig ?? "", "utf8"), hasJobController: false };
      await using lab = await clusterLab({ real });
      const { client, namespace } = lab;
      const pattern = `${namespace}-{machine}`;
      const worker = lab.start([
        ...["--grpc-server", server ?? "", "--agent-id-pattern", pattern, "--rufio", "--rufio-alone"],
        ...["--rufio-image", "registry.example/pbnj-worker/{action}:{version}"],
      ]);
      await worker.untilLogged("Rufio lease is free, taking over");

      const create = (resource: keyof typeof KINDS, name: string, spec: object) =>
        client.create(`/apis/tinkerbell.org/v1alpha1/namespaces/${namespace}/${resource}`, {
          ...{ apiVersion: "tinkerbell.org/v1alpha1", kind: KINDS[resource], metadata: { name }, spec },
        });
      await create("hardware", "hw-1", {
        bmcRef: { apiGroup: "bmc.tinkerbell.org", kind: "Machine", name: "node-01" },
        interfaces: [{ dhcp: { mac: "02:00:00:00:00:01", uefi: true }, netboot: { allowPXE: true } }],
      });
      const machine = "{{ .hardware.spec.bmcRef.name }}";
      const template = {
        ...{ version: "0.1", name: "t", global_timeout: 600 },
        tasks: [
          {
            name: "bmc",
            worker: `${namespace}-${machine}`,
            actions: [
              {
                ...{ name: "look", image: "registry.example/pbnj-worker/power-status:test", timeout: 60 },
                environment: { MACHINE: machine },
              },
            ],
          },
        ],
      };
      await create("templates", "t", { data: JSON.stringify(template) });
      await create("workflows", "w", {
        templateRef: "t",
        hardwareRef: "hw-1",
        bootOptions: wanted.bootOptions,
      });

      const path = `/apis/tinkerbell.org/v1alpha1/namespaces/${namespace}/workflows/w`;
      await vi.waitFor(async () => {
        const { status } = await client.get(path);
        expect(status, worker.stderr.slice(-1_500)).toMatchObject({ state: "SUCCESS" });
      }, IN_TIME);

      const [simulated] = lab.machines;
      expect(simulated?.commands.map(({ action }) => action)).toEqual(wanted.commands);
      expect(simulated?.lastBoot ?? {}).toMatchObject(wanted.boot);
      const { status } = await client.get(path);
      expect(status).toMatchObject({
        tasks: [{ actions: [{ state: "SUCCESS", message: expect.stringMatching(/^on via redfish$/) }] }],
      });
    },
  );
});

if (!available) {
  it.skip("Tinkerbell's boot modes: set TINK_SERVER and KUBECONFIG to run them", () => undefined);
}
