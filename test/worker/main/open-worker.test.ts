import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { type Clock, systemClock } from "../../../shared/clock.ts";
import type { DesiredState } from "../../../shared/contract/desired-state.ts";
import { startTinkServer } from "../../../simulators/tink/server.ts";
import { shardOf } from "../../../worker/machines/shard.ts";
import { openFakeCluster } from "../../support/fake-cluster.ts";
import { freePort } from "../../support/free-port.ts";
import { messageOf, openLab, openRack, type Step, workingLab } from "../../support/lab.ts";
import { scaledClock } from "../../support/scaled-clock.ts";

const CANARY = "canary-4f1e9";

const reprovision: readonly Step[] = [
  { name: "power-off", environment: { MODE: "hard" } },
  { name: "set-pxe-once" },
  { name: "power-on" },
];

describe.concurrent("a workflow", () => {
  test("runs end to end and its status messages carry the actions' own reasons", async () => {
    await using lab = await workingLab();

    const workflow = lab.submit("pbnj-node-01", ...reprovision);
    await lab.server.until(() => workflow.state === "SUCCESS");

    expect(workflow.tasks[0]?.actions.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^off after \d+\.\d s \(forced\) via redfish$/),
      "boot pxe once (uefi) via redfish",
      expect.stringMatching(/^on after \d+\.\d s via redfish$/),
    ]);
    expect(lab.machine().commands.map(({ action }) => action)).toEqual(["off", "on"]);
    expect(lab.machine().lastBoot).toMatchObject({ device: "pxe", overridden: true });
  });

  test("for a paused machine fails with the reason, and one after the inventory has changed runs", async ({
    expect,
  }) => {
    await using lab = await openLab();
    const { machines: entries, ...rest } = lab.inventoryOf();
    const paused = entries.map((entry) => ({ ...entry, paused: "fan replacement" }));
    await lab.write("inventory.yaml", { ...rest, machines: paused });
    await lab.start();

    const refused = lab.submit("pbnj-node-01", { name: "power-status" });
    await lab.untilOver(refused);
    expect(refused.state).toBe("FAILED");
    expect(messageOf(refused)).toBe(
      "power-status failed (state): machine node-01 is paused: fan replacement (inventory inventory.yaml)",
    );
    expect(lab.bmc().requests).toEqual([]);

    await lab.write("inventory.yaml", lab.inventoryOf());
    await expect
      .poll(
        async () => {
          const workflow = lab.submit("pbnj-node-01", { name: "power-status" });
          await lab.untilOver(workflow);
          return workflow.state;
        },
        { timeout: 60_000 },
      )
      .toBe("SUCCESS");
  });

  test("of every machine runs concurrently over one connection", async () => {
    const names = ["node-01", "node-02", "node-03", "node-04"];
    await using lab = await workingLab({ machines: Object.fromEntries(names.map((name) => [name, {}])) });

    const workflows = names.map((name) => lab.submit(`pbnj-${name}`, ...reprovision));
    await lab.server.until(() => workflows.every(({ state }) => state === "SUCCESS"));

    expect(lab.machines.map((machine) => machine.count("on"))).toEqual([1, 1, 1, 1]);
    expect(lab.server.connections.accepted).toBe(1);
  });

  test("refuses an action for a machine of another shard", async () => {
    const { [0]: own = "", [1]: other = "" } = Object.fromEntries(
      ["node-01", "node-02", "node-03", "node-04"].map((name) => [shardOf(`pbnj-${name}`, 2), name]),
    );
    await using lab = await workingLab({ machines: { [own]: {}, [other]: {} }, argv: ["--shard", "0/2"] });

    const steps = [{ name: "power-status", environment: { MACHINE: other } }];
    const workflow = lab.submit(`pbnj-${own}`, ...steps);
    await lab.server.until(() => workflow.state === "FAILED");

    expect(messageOf(workflow)).toContain(
      `${other} belongs to another shard than 0/2: address its workflows to pbnj-${other}`,
    );
    expect(new Set(lab.server.polls)).toEqual(new Set([`pbnj-${own}`]));
  });

  test("on one agent ID for all machines selects one with MACHINE", async () => {
    await using lab = await workingLab({ argv: ["--agent-id", "pbnj"] });

    const steps = [{ name: "power-status", environment: { MACHINE: "node-01" } }];
    const workflow = lab.submit("pbnj", ...steps);
    await lab.server.until(() => workflow.state === "SUCCESS");

    expect(messageOf(workflow)).toBe("on via redfish");
  });
});

describe.concurrent("an action fails with its reason, and the worker continues", () => {
  const cases: readonly (readonly [string, Step, RegExp, string])[] = [
    [
      "unknown machine",
      { name: "power-on", environment: { MACHINE: "node-1" } },
      /MACHINE is node-1, which the inventory does not have/,
      "other",
    ],
    [
      "bad input",
      { name: "power-off", environment: { MODE: "gently" } },
      /\(usage, exit 2\): .*MODE "gently" is not one of/,
      "pbnj-node-01",
    ],
  ];

  test.each(cases)("%s", async (_, step, reason, worker) => {
    await using lab = await workingLab({ argv: ["--agent-id", "other"] });

    const workflow = lab.submit(worker, step);
    await lab.server.until(() => workflow.state === "FAILED");
    const next = lab.submit("pbnj-node-01", { name: "power-status" });
    // The server looks at the first workflow of an agent ID only; a person would delete the failed one.
    lab.server.board.delete(workflow);
    await lab.server.until(() => next.state === "SUCCESS");

    expect(messageOf(workflow)).toMatch(reason);
    expect(lab.machine().commands).toEqual([]);
  });

  test("timeout: TIMEOUT is reported, and the machine's action is stopped", async () => {
    await using lab = await workingLab({ machines: { "node-01": { power: "on", softOffMs: "never" } } });

    const steps = [{ name: "power-off", environment: { MODE: "soft" }, timeout: 1 }];
    const workflow = lab.submit("pbnj-node-01", ...steps);
    await lab.server.until(() => workflow.state === "TIMEOUT");

    expect(messageOf(workflow)).toMatch(/\(timeout, exit 143\): timed out after 1.0 s/);
  });
});

describe.concurrent("a server that", () => {
  test("goes away while lanes wait is found again without a restart", async () => {
    await using lab = await workingLab();
    await lab.server.until(() => lab.server.polls.length > 0);

    await lab.server.stop();
    await lab.worker.untilLogged("tink server unavailable, retrying");
    await lab.server.start();
    const workflow = lab.submit("pbnj-node-01", { name: "power-status" });
    await lab.server.until(() => workflow.state === "SUCCESS");

    expect(messageOf(workflow)).toBe("on via redfish");
  });
});

describe.concurrent("a stopping worker", () => {
  test("waits for the running action, reports its end, and starts no other", async () => {
    await using lab = await workingLab({ machines: { "node-01": { power: "off", powerOnMs: 800 } } });
    const steps = [{ name: "power-on" }, { name: "power-off" }];
    const workflow = lab.submit("pbnj-node-01", ...steps);
    await lab.worker.untilLogged("action started");

    lab.worker.stop();

    expect(await lab.worker.ended).toBe("drained");
    expect(workflow.tasks[0]?.actions.map(({ state }) => state)).toEqual(["SUCCESS", "PENDING"]);
  });

  test("stops at once when it is idle", async () => {
    await using lab = await workingLab({ server: { holdMs: 60_000 } });
    await lab.server.until(() => lab.server.polls.length > 0);

    lab.worker.stop();

    expect(await lab.worker.ended).toBe("drained");
  });
});

test.concurrent("sends a machine's hardware with its polls, and reads it again only after an hour", async () => {
  const attributes = ["--agent-attributes", "--hardware-max-age", "1h"];
  await using lab = await workingLab({ argv: attributes, server: { holdMs: 50_000 } });

  await lab.server.until(() => lab.server.attributes.get("pbnj-node-01") !== undefined);

  expect(lab.server.attributes.get("pbnj-node-01")).toMatchObject({
    cpu: { totalCores: 32, totalThreads: 64 },
    memory: { total: "96GB" },
    product: { vendor: "Contoso", serialNumber: "CZ00000001" },
    chassis: { serial: "CH00000001" },
  });
  const polls = lab.server.polls.length;
  const requests = lab.bmc().requests.length;
  const steps = [{ name: "power-status" }, { name: "bmc-info" }];
  const workflow = lab.submit("pbnj-node-01", ...steps);
  await lab.server.until(() => workflow.state === "SUCCESS" && lab.server.polls.length > polls);
  expect(
    lab
      .bmc()
      .log.slice(requests)
      .filter((line) => line.includes("/Memory")),
  ).toEqual([]);
});

describe.concurrent("a worker that enforces desired states", () => {
  const ENFORCING = ["--drift-interval", "1m", "--drift-quiet-time", "1m"];
  const desired: DesiredState = { power: "on", bootDevice: "none", ntp: ["ntp1.example.org"], enforce: true };

  test("corrects one setting after the other with ordinary actions, and after a workflow again", async ({
    expect,
  }) => {
    const machines = { "node-01": { power: "off" } } as const;
    await using lab = await workingLab({
      argv: ENFORCING,
      machines,
      entry: { desired },
      clock: scaledClock(60),
    });

    await lab.worker.untilLogged("machine drift ended");
    const started = () =>
      lab.worker.log.filter(({ msg, agentId }) => msg === "action started" && agentId === "drift");
    expect(started().map(({ action, machine }) => [action, machine])).toEqual([
      ["set-ntp", "node-01"],
      ["power-on", "node-01"],
    ]);
    expect(started()[0]).toMatchObject({ workflow: "drift/node-01", task: "ntp" });

    const steps: readonly Step[] = [
      { name: "set-pxe-once" },
      { name: "power-off", environment: { MODE: "hard" } },
    ];
    const workflow = lab.submit("pbnj-node-01", ...steps);
    await lab.server.until(() => workflow.state === "SUCCESS");

    // The workflow's override is for a boot of its own.
    const drifted = () => lab.worker.log.filter(({ msg }) => msg === "machine drifted");
    await expect.poll(() => drifted().length, { timeout: 60_000 }).toBe(2);
    expect(lab.machine().commands.at(-1)).toMatchObject({ action: "off" });
    const cleared = lab.submit("pbnj-node-01", { name: "clear-boot-override" });
    await lab.server.until(() => cleared.state === "SUCCESS");
    await expect.poll(() => lab.machine().boots.length, { timeout: 60_000 }).toBe(2);
    expect(lab.machine().lastBoot).toMatchObject({ overridden: false });
    expect(started()).toHaveLength(3);
  });

  test("does only what the policy allows", async () => {
    await using lab = await workingLab({
      policy: { agents: [{ agentIds: ["pbnj-*"], machines: ["*"] }] },
      argv: ENFORCING,
      machines: { "node-01": { power: "off" } },
      entry: { desired: { power: "on", enforce: true } },
      clock: scaledClock(60),
    });

    const refused = await lab.worker.untilLogged("action refused");

    expect(refused["reason"]).toBe("policy agents: agent ID drift may not act on machine node-01");
    expect(lab.machine().commands).toEqual([]);
  });

  test("takes a Machine's annotation for it, waits for the Machine's Workflow, and writes events on the Machine", async ({
    expect,
  }) => {
    const namespace = "tink-system";
    await using rack = await openRack({
      ...{ machines: { "node-9": { power: "off" } }, password: CANARY, bmc: { tls: undefined } },
    });
    const { fake: cluster, kubeconfig } = await openFakeCluster({ namespace }, rack);
    const machine = rack.machine();
    const named = { name: "node-9", namespace };
    const text = (value: string) => Buffer.from(value).toString("base64");
    cluster.create("v1", "Secret", {
      metadata: named,
      data: { username: text("admin"), password: text(CANARY) },
    });
    cluster.create("bmc.tinkerbell.org/v1alpha1", "Machine", {
      metadata: { ...named, annotations: { "pbnj-worker/desired": "power: on\nenforce: true" } },
      spec: {
        connection: {
          ...{ host: "127.0.0.1", insecureTLS: true, authSecretRef: named },
          providerOptions: { preferredOrder: ["gofish"], redfish: { port: rack.bmc().port } },
        },
      },
    });
    const workflow = (state: string) => ({ state, agentID: "os", tasks: [{ worker: "pbnj-node-9" }] });
    const WORKFLOW = ["tinkerbell.org/v1alpha1", "Workflow"] as const;
    cluster.create(...WORKFLOW, { metadata: { name: "install", namespace }, spec: { templateRef: "t" } });
    cluster.patchStatus(...WORKFLOW, "install", workflow("RUNNING"), namespace);
    const argv = [
      ...[...ENFORCING, "--kubeconfig", kubeconfig, "--kubernetes-inventory", "machines"],
      ...["--wake-up", "on"],
    ];
    const clock = scaledClock(60);
    await using lab = await workingLab({ argv, clock });

    const events = () =>
      cluster.list("v1", "Event", namespace).map(({ involvedObject, reason }) => [reason, involvedObject]);
    // Longer than the quiet time.
    await expect.poll(() => events().length, { timeout: 60_000 }).toBe(1);
    await clock.sleep(3 * 60_000);
    expect(machine.commands).toEqual([]);
    cluster.patchStatus(...WORKFLOW, "install", workflow("SUCCESS"), namespace);
    await expect.poll(() => events().length, { timeout: 60_000 }).toBe(3);

    const object = expect.objectContaining({ kind: "Machine", ...named });
    expect(events().toSorted()).toEqual([
      ["Correcting", object],
      ["DriftEnded", object],
      ["Drifted", object],
    ]);
    expect(machine.commands.map(({ action }) => action)).toEqual(["on"]);
    await lab.worker.untilLogged("action started", {
      agentId: "drift",
      workflow: "tink-system/drift-node-9",
    });
  });
});

test.concurrent("serves PBnJ's API where it leads alone: a follower opens the port once it leads", async ({
  expect,
}) => {
  await using lab = await openLab();
  const { kubeconfig } = await openFakeCluster({ controllers: false, namespace: "tink-system" }, lab);
  const replica = async (name: string) => {
    const port = await freePort();
    const worker = await lab.start([
      ...["--kubeconfig", kubeconfig, "--leader-election", "--runtime", "kubernetes", "--unsafe-any-image"],
      ...["--pbnj-address", `127.0.0.1:${port}`, "--state-directory", lab.path(name)],
    ]);
    return { worker, answers: () => answers(port) };
  };
  const first = await replica("first");
  await first.worker.untilLogged("serving PBnJ's API");
  const second = await replica("second");
  await second.worker.untilLogged("another worker leads, waiting");
  const served = [await first.answers(), await second.answers()];

  first.worker.stop();
  await first.worker.ended;
  await second.worker.untilLogged("serving PBnJ's API");

  expect(served).toEqual([true, false]);
  expect([await first.answers(), await second.answers()]).toEqual([false, true]);
});

test("ends the wait for the server when a watch of the cluster opens again", {
  timeout: 120_000,
}, async () => {
  await using there = await openFakeCluster({ namespace: "tink-system" });
  // While it is slow, the wait for the next probe never ends. The worker has no other wait of that length.
  const probeMs = 239;
  const waiting = Promise.withResolvers<void>();
  let isSlow = false;
  const clock: Clock = {
    ...systemClock,
    sleep(ms, signal) {
      if (!isSlow || ms < probeMs / 2 || ms > probeMs) return systemClock.sleep(ms, signal);
      waiting.resolve();
      return systemClock.sleep(600_000, signal);
    },
  };
  const watching = ["--kubeconfig", there.kubeconfig, "--kubernetes-inventory", "machines"];
  const argv = [...watching, "--backoff-max-interval", `${probeMs}ms`];
  await using lab = await workingLab({ argv, clock });
  await lab.server.until(() => lab.server.polls.length > 0);
  await lab.server.close();
  await lab.worker.untilLogged("tink server unavailable, retrying");
  isSlow = true;
  await waiting.promise;
  isSlow = false;
  await using _ = await startTinkServer({ port: lab.server.port, holdMs: 2_000 });

  there.fake.dropWatches();

  await lab.worker.untilLogged("tink server available again");
});

/** Whether something listens on the port. */
async function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
