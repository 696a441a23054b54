import { describe, expect, it } from "vitest";
import { connectionRedactor } from "../../../../worker/machines/launch-credentials.ts";
import { resolveMachine } from "../../../../worker/machines/resolve-machine.ts";
import { allowNamespaces, bindClaim, createHost, detached, HOSTS, METAL3, stateOf } from "./host-lab.ts";
import {
  failureOf,
  InventoryLab,
  type InventoryLabOptions,
  NAMESPACE,
  reading,
  SOON,
} from "./inventory-lab.ts";

const SOURCES = { fake: HOSTS, sources: ["baremetalhosts"] } as const;

async function labOf(before: InventoryLabOptions["before"], options: InventoryLabOptions = {}) {
  const lab = await InventoryLab.start({ ...SOURCES, ...options, ...(before && { before }) });
  await lab.synced();
  return lab;
}

/** Reads the connection for an action with this image. */
function connectAs(lab: InventoryLab, name: string, image: string, namespace = NAMESPACE) {
  const machine = lab.inventory.find(name, namespace);
  if (!machine) throw new Error(`there is no machine ${name}`);
  return lab.inventory.resolveConnection(machine, { ...reading(), image });
}

describe("BareMetalHosts that Metal3 does not manage", () => {
  it("are machines with the address, the Secret, the certificate setting and the boot mode of the host", async () => {
    await using lab = await labOf((fake) => {
      createHost(fake, "one", { ...detached, spec: { bootMode: "legacy" } });
      createHost(fake, "two", {
        status: stateOf("externally provisioned"),
        spec: {
          bmc: {
            address: "192.0.2.9:6230",
            credentialsName: "two-bmc",
            disableCertificateVerification: true,
          },
        },
      });
      fake.create(METAL3, "BareMetalHost", {
        metadata: { name: "discovered", namespace: NAMESPACE },
        spec: { online: false },
      });
    });

    expect(lab.names()).toEqual(["one", "two"]);
    const [one, two] = [await lab.connect("one"), await lab.connect("two")];
    expect(one).toMatchObject({
      ...{ machine: "one", host: "one.bmc.example", providers: ["redfish"], bootMode: "legacy" },
      ...{ username: "root", tls: { verify: true }, redfish: { system: "/redfish/v1/Systems/1" } },
    });
    expect(one.password?.reveal()).toBe("calvin");
    expect(two).toMatchObject({
      ...{ host: "192.0.2.9", providers: ["ipmi"], bootMode: "uefi", tls: { verify: false } },
      ipmi: { port: 6230, privilege: "administrator" },
    });
    expect(lab.fake.countBy("list", "secrets")).toBe(0);
  });

  it.each([".", "..", "../../other/secrets/one", "one/../two", "%2e", "one?watch=1"])(
    "read no other Secret, and list none, if the Secret's name is %s",
    async (credentialsName) => {
      await using lab = await labOf((fake) => {
        const bmc = { address: "redfish://one.bmc.example", credentialsName };
        createHost(fake, "one", { ...detached, spec: { bmc } });
      });

      const { message } = await failureOf(() => lab.connect("one"));

      expect(message).toMatch(/does not exist|is not the name of an object/);
      expect(lab.fake.countBy("list", "secrets")).toBe(0);
    },
  );

  it("keep the power that agrees with spec.online if they are externally provisioned", async () => {
    await using lab = await labOf((fake) =>
      createHost(fake, "one", { status: stateOf("externally provisioned") }),
    );

    await expect(connectAs(lab, "one", "x/power-cycle:v1")).resolves.toMatchObject({ username: "root" });
    await expect(connectAs(lab, "one", "x/set-boot-device:v1")).resolves.toMatchObject({ username: "root" });
    const { class: errorClass, message } = await failureOf(() => connectAs(lab, "one", "x/power-off:v1"));
    expect([errorClass, message]).toEqual([
      "state",
      expect.stringContaining("would undo power-off. Fix: set"),
    ]);
  });
});

describe("BareMetalHosts that Metal3 manages", () => {
  it.each([
    ["provisioned", {}, /managed by Metal3 \(state provisioned\).*Fix: detach it with the annotation/],
    ["has no state yet", { status: { provisioning: null } }, /managed by Metal3 \(state unknown\)/],
    ["being detached", { annotations: detached.annotations }, /not detached it yet \(state provisioned\)/],
    [
      "wrong",
      { ...detached, spec: { bmc: { address: "irmc://x", credentialsName: "y" } } },
      /has the scheme irmc/,
    ],
  ])("are refused with the reason if they are %s", async (_, fields, reason) => {
    await using lab = await labOf((fake) => createHost(fake, "one", fields));

    const { class: errorClass, message } = await lab.failure("one", NAMESPACE);
    expect([errorClass, message]).toEqual(["usage", expect.stringMatching(reason)]);
    expect(message).toContain(`machine one: BareMetalHost ${NAMESPACE}/one: `);
    expect(lab.fake.countBy("get", "secrets")).toBe(0);
    await expect
      .poll(() => lab.said.map(({ message: said }) => said), SOON)
      .toContainEqual(expect.stringMatching(/^BareMetalHost refused$/));
  });

  it("are refused at launch even if the watch has not seen it yet", async () => {
    await using lab = await labOf((fake) => createHost(fake, "one", detached));
    await expect.poll(() => lab.fake.openWatches("baremetalhosts").length, SOON).toBe(1);

    const failure = await lab.fake
      .watchGap("BareMetalHost", () => {
        lab.fake.patch(
          ...([METAL3, "BareMetalHost", "one"] as const),
          { metadata: { annotations: { "baremetalhost.metal3.io/detached": null } } },
          NAMESPACE,
        );
      })
      .then(() => lab.failure("one", NAMESPACE));

    expect(failure.message).toContain("is managed by Metal3 (state provisioned)");
    expect(lab.fake.countBy("get", "secrets")).toBe(0);
  });

  it("go through the object alone with via-host, and then only for their power", async () => {
    await using lab = await labOf((fake) => createHost(fake, "one"), { managedHosts: "via-host" });
    const machine = lab.inventory.find("one", NAMESPACE);
    if (!machine) throw new Error("there is no machine one");

    const connection = await connectAs(lab, "one", "x/power-off:v1");
    expect([connection.username, connection.password]).toEqual([undefined, undefined]);
    expect(lab.inventory.hostAccess(machine, "x/power-off:v1")?.key).toBe(`local/${NAMESPACE}/one`);
    const { class: errorClass, message } = await failureOf(() => connectAs(lab, "one", "x/inventory:v1"));
    expect([errorClass, message]).toEqual([
      "unsupported",
      expect.stringMatching(/allows only power-on.*not inventory/),
    ]);
    expect(lab.fake.countBy("get", "secrets")).toBe(0);
  });

  it("use the BMC for all but power with via-host if they are externally provisioned", async () => {
    await using lab = await labOf(
      (fake) => createHost(fake, "one", { status: stateOf("externally provisioned") }),
      { managedHosts: "via-host" },
    );
    const machine = lab.inventory.find("one", NAMESPACE);
    if (!machine) throw new Error("there is no machine one");

    await expect(connectAs(lab, "one", "x/inventory:v1")).resolves.toMatchObject({ username: "root" });
    expect(lab.inventory.hostAccess(machine, "x/inventory:v1")).toBeUndefined();
    expect(lab.inventory.hostAccess(machine, "x/power-off:v1")).toBeDefined();
  });
});

describe("a HostClaim", () => {
  const everywhere = { watchNamespace: "*" } as const;

  it("stands for its host in workflows of its namespace alone", async () => {
    await using lab = await labOf((fake) => {
      createHost(fake, "node-7", detached);
      bindClaim(fake, "db", "node-7");
      allowNamespaces(fake, { names: ["tenant"] });
    }, everywhere);

    expect(lab.names()).toEqual([`node-7.${NAMESPACE}`]);
    const claim = lab.inventory.find("claim/db", "tenant");
    expect(claim).toEqual({ name: "claim/db.tenant", lockKey: "node-7.bmc.example" });
    expect(lab.inventory.find("claim/db", "other")).toBeUndefined();
    expect(lab.inventory.find("claim/db.tenant", "other")).toBeUndefined();
    expect(lab.inventory.find("node-7", "tenant")).toBeUndefined();
    const connection = await lab.connect("claim/db", "tenant");
    expect(connection).toMatchObject({
      machine: "claim/db.tenant",
      host: "node-7.bmc.example",
      username: "root",
    });
    expect(connectionRedactor(connection)("connect ECONNREFUSED node-7.bmc.example:443")).not.toContain(
      "node-7",
    );
  });

  it("tells its tenant which actions its host allows", async () => {
    await using lab = await labOf(
      (fake) => {
        createHost(fake, "node-7");
        bindClaim(fake, "db", "node-7");
        allowNamespaces(fake, { names: ["tenant"] });
      },
      { ...everywhere, managedHosts: "via-host" },
    );

    const { message } = await failureOf(() => connectAs(lab, "claim/db", "x/inventory:v1", "tenant"));
    expect(message).toMatch(
      /HostClaim tenant\/db: has a host that is managed by Metal3, which allows only power-on/,
    );
    expect(message).not.toContain("node-7");
  });

  it("is refused without the workflow's namespace", async () => {
    await using lab = await labOf((fake) => bindClaim(fake, "db", createNamed(fake, "node-7")), everywhere);
    const action = { agentId: "a", command: [], environment: { MACHINE: "claim/db.tenant" } };

    const resolved = resolveMachine(
      { ...action, workflowId: "no-namespace" },
      lab.inventory,
      "pbnj-{machine}",
    );
    expect(resolved).toMatchObject({ ok: false, reason: expect.stringContaining("which a claim needs") });
  });

  it.each([
    ["does not name it", { consumerRef: null }, /that is not bound to the claim/],
    ["is managed by Metal3", { consumerRef: undefined }, /a host that cannot be used now/],
  ])("whose host %s tells nothing of the host", async (_, { consumerRef }, reason) => {
    await using lab = await labOf((fake) => {
      createHost(fake, "node-7", consumerRef === null ? detached : {});
      bindClaim(fake, "db", "node-7");
      allowNamespaces(fake, { names: ["tenant"] });
      if (consumerRef === null) {
        fake.patch(METAL3, "BareMetalHost", "node-7", { spec: { consumerRef } }, NAMESPACE);
      }
    }, everywhere);

    const { message } = await lab.failure("claim/db", "tenant");
    expect(message).toMatch(reason);
    expect(message).toContain("HostClaim tenant/db");
    expect(message).not.toContain("node-7");
  });

  it.each([
    ["no policy", undefined, false],
    ["one that names nothing", {}, true],
    ["another namespace's name", { names: ["other"] }, false],
    ["a part of its name", { nameMatches: "en+a" }, true],
    ["an expression for others", { nameMatches: "^prod$" }, false],
    ["an invalid expression", { nameMatches: "(" }, false],
    ["a label of its namespace", { hasLabels: [{ name: "team", value: "blue" }] }, true],
    ["a label that it lacks", { names: ["tenant"], hasLabels: [{ name: "stage" }] }, false],
  ])("with %s in the host's namespace is decided as Metal3 does", async (_, policy, isAllowed) => {
    await using lab = await labOf((fake) => {
      createHost(fake, "node-7", detached);
      bindClaim(fake, "db", "node-7");
      fake.patch("v1", "Namespace", "tenant", { metadata: { labels: { team: "blue" } } });
      if (policy) allowNamespaces(fake, policy);
    }, everywhere);

    const ended = await lab.connect("claim/db", "tenant").then(
      () => true,
      ({ message }: Error) => message,
    );
    expect(ended).toEqual(isAllowed || expect.not.stringContaining("node-7"));
  });
});

function createNamed(fake: InventoryLab["fake"], name: string): string {
  createHost(fake, name, detached);
  return name;
}
