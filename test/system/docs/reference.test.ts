import { describe, expect, it } from "vitest";
import { createCertificate, fingerprintOf } from "../../../simulators/certificate.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { startTinkServer } from "../../../simulators/tink/server.ts";
import { ManualHost, NETWORK } from "../../docs/manual-host.ts";

/** The host with only those blocks of a page that have a text. */
async function openAt(path: string, text: string): Promise<ManualHost> {
  const host = await ManualHost.open(path);
  const chosen = host.commands.filter((block) => block.text.includes(text));
  host.commands.splice(0, Number.POSITIVE_INFINITY, ...chosen);
  return host;
}

/** A BMC with TLS at the address that the page has, and the rest of its entry in an inventory. */
async function startBmc(open: AsyncDisposableStack, last: number) {
  const tls = createCertificate({ commonName: "bmc" });
  const machine = new SimulatedMachine({ power: "on" });
  const bmc = open.use(
    await startRedfishBmc({ machines: [machine], host: `${NETWORK}${last}`, tls, username: "admin" }),
  );
  const entry = {
    ...{ host: `${NETWORK}${last}`, providers: ["redfish"], redfish: { port: bmc.port } },
    credentials: { username: "admin", passwordFile: "bmc-password" },
  };
  return { machine, entry, port: bmc.port, fingerprint: fingerprintOf(tls) };
}

describe("the commands of the reference", () => {
  const COMMAND_LINE = "docs/reference/command-line.md";

  it("run one action at one BMC", async () => {
    await using open = new AsyncDisposableStack();
    const host = open.use(await openAt(COMMAND_LINE, "action power-off --bmc-host"));
    const { machine, port, fingerprint } = await startBmc(open, 11);
    host.env = { BMC_TLS_FINGERPRINT: fingerprint, REDFISH_PORT: String(port), BMC_PROVIDERS: "redfish" };
    await host.write("bmc-password", "calvin\n");

    expect(await host.run()).toMatch(/"ok":true.*"after":"off"/);

    expect(machine.power).toBe("off");
    expect(host.commands).toEqual([]);
  });

  it("pin certificates, and run an action on machines of an inventory", async () => {
    await using open = new AsyncDisposableStack();
    const [host, pinned] = [
      open.use(await openAt(COMMAND_LINE, "action power-status --inventory")),
      open.use(await openAt(COMMAND_LINE, "inventory pin")),
    ];
    const bmcs = await Promise.all([11, 12].map((last) => startBmc(open, last)));
    const machines = bmcs.map(({ entry }, index) => ({
      ...{ name: `rack1-node${index}`, ...entry },
      labels: { rack: "r12" },
    }));
    await pinned.write("inventory.yaml", JSON.stringify({ machines }));
    // The page's first command asks, and the tests have no terminal.
    pinned.replace("inventory.yaml\n", "inventory.yaml --yes\n");

    expect(await pinned.run()).toMatch(/rack1-node1 .*pinned/);
    await host.write("inventory.yaml", await pinned.read("inventory.yaml"));
    await host.write("bmc-password", "calvin\n");
    const said = await host.run();

    expect(said.match(/"action":"power-status"/g)).toHaveLength(4);
    expect(said).toMatch(/rack1-node0 +ok .*\n.*rack1-node1 +ok /);
    expect(bmcs.map(({ machine }) => machine.power)).toEqual(["off", "off"]);
    expect([...host.commands, ...pinned.commands]).toEqual([]);
  });

  it("check everything that a worker needs", async () => {
    await using open = new AsyncDisposableStack();
    const host = open.use(await openAt("docs/reference/doctor.md", "doctor"));
    const tink = await startTinkServer({ host: `${NETWORK}1`, port: 42113 });
    open.defer(() => tink.close());
    const { entry, fingerprint } = await startBmc(open, 11);
    const machine = { name: "node-01", ...entry, tls: { fingerprint } };
    await host.write("/etc/pbnj-worker/inventory.yaml", JSON.stringify({ machines: [machine] }));
    await host.write("/etc/pbnj-worker/bmc-password", "calvin\n");
    await host.write("/etc/pbnj-worker/policy.yaml", "trustedImages: [registry.example/pbnj-worker/*]\n");
    await host.write(
      "/etc/pbnj-worker/worker.yaml",
      `grpcServer: ${NETWORK}1:42113\ninventory: inventory.yaml\npolicy: policy.yaml\nagentId: [pbnj-node-01]\n`,
    );

    const said = await host.run();

    expect(said).toMatch(/bmc +node-01: .*power on/);
    expect(said.match(/^no problem/gm)).toHaveLength(2);
  });
});
