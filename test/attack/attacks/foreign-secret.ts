import { openFakeCluster } from "../../support/fake-cluster.ts";
import { openRack } from "../../support/lab.ts";
import { WorkerProgram } from "../../support/worker-program.ts";
import { type Attack, unless } from "../attack.ts";
import { newPassword } from "../lab.ts";

const API = "bmc.tinkerbell.org/v1alpha1";
const WITHIN_MS = 30_000;

export const attack: Attack = {
  tries: "a Machine and a Job of team-a name a Secret and a Machine of team-b, with a host of team-a's own",
  holds:
    "no login reaches the host, nothing of team-b is copied, and both say that the policy refuses the reference",
  async run() {
    const password = newPassword();
    const token = newPassword();
    await using rack = await openRack({ password });
    const [machine, bmc] = [rack.machine(), rack.bmc()];
    const namespaces = ["team-a", "team-b", "pbnj"];
    const { fake: cluster, kubeconfig } = await openFakeCluster({ namespaces, namespace: "pbnj" }, rack);
    const secret = {
      metadata: { name: "bmc", namespace: "team-b" },
      stringData: { username: "admin", password },
    };
    cluster.create("v1", "Secret", secret);
    const connection = {
      host: "127.0.0.1",
      insecureTLS: true,
      authSecretRef: { name: "bmc", namespace: "team-b" },
    };
    const providerOptions = { redfish: { port: bmc.port } };
    const add = (kind: string, namespace: string, name: string, spec: object) =>
      cluster.create(API, kind, { metadata: { name, namespace }, spec });
    add("Machine", "team-a", "evil", { connection: { ...connection, providerOptions } });
    const rpc = { consumerURL: "http://127.0.0.1:1", request: { staticHeaders: { "X-Token": [token] } } };
    add("Machine", "team-b", "node-1", { connection: { ...connection, providerOptions: { rpc } } });
    add("Job", "team-a", "own", {
      machineRef: { name: "evil", namespace: "team-a" },
      tasks: [{ powerAction: "off" }],
    });
    add("Job", "team-a", "theirs", {
      machineRef: { name: "node-1", namespace: "team-b" },
      tasks: [{ powerAction: "off" }],
    });
    await using worker = new WorkerProgram([
      ...["start", "--rufio", "--rufio-alone", "--kubeconfig", kubeconfig, "--watch-namespace", "*"],
      ...["--runtime", "in-process", "--state-directory", rack.path("state")],
    ]);
    const text = () =>
      JSON.stringify([cluster.list(API, "Job"), cluster.list(API, "Machine"), cluster.list(API, "Task")]);
    const refused = () => text().split("policy references: ").length - 1;
    const endMs = performance.now() + WITHIN_MS;
    while (performance.now() < endMs && refused() < 3) await new Promise((next) => setTimeout(next, 100));

    const tasks = cluster.list(API, "Task").filter(({ metadata }) => metadata.name === "theirs-task-0");
    const secrets = cluster.requests.filter(({ resource }) => resource === "secrets");
    return [
      ...unless(refused() >= 3, `${refused()} of the Machine, its Task and the Job say that it is refused`),
      ...unless(tasks.length === 0, "a Task of team-a has the connection of team-b's Machine"),
      ...unless(secrets.length === 0, `Secrets were asked for: ${secrets.length} requests`),
      ...unless(bmc.log.length === 0, `the attacker's host got ${bmc.log.length} requests`),
      ...unless(machine.commands.length === 0, "the machine was powered"),
      ...unless(!`${worker.stderr}${worker.stdout}`.includes(token), "the log has the token"),
    ];
  },
};
