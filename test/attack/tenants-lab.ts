import { createHmac, randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { startCollector } from "../../simulators/otlp/collector.ts";
import { startRpcConsumer } from "../../simulators/rpc/consumer.ts";
import { isOver, type Workflow } from "../../simulators/tink/workflow.ts";
import { LABEL } from "../../worker/runtimes/docker/container-spec.ts";
import { removeContainers } from "../support/docker.ts";
import { openFakeCluster } from "../support/fake-cluster.ts";
import { openLab, type Step, templateOf } from "../support/lab.ts";
import { WorkerProgram } from "../support/worker-program.ts";
import type { Setting } from "./attack.ts";
import { anyCanary, anySecret, Canaries, type Canary } from "./canaries.ts";
import { containersOf } from "./engine.ts";
import { dockerArgv, newPassword, trusted } from "./lab.ts";
import { PBNJ_API, policyText, TRUSTED } from "./policy.ts";
import { Watcher } from "./watcher.ts";

export const BMC_API = "bmc.tinkerbell.org/v1alpha1";
const SERVICES = "github.com.tinkerbell.pbnj.api.v1";
const PAGES = ["/", "/actions", "/agent-ids", "/machines", "/status.json", "/metrics", "/healthz", "/readyz"];
/** How much of a growing text is read again, so that no canary is cut. */
const OVERLAP = 4_096;
/** Many actions wait for one another, in containers that a busy host starts slowly. */
const WITHIN_MS = 120_000;
/** Agent IDs of no machine: each runs one action at a time. */
const SPARE = ["any-1", "any-2", "any-3", "any-4"];

/** Texts in the places where they belong: a search that does not find them there proves nothing. */
const EXPECTED = (tenant: Tenant): readonly string[] => [
  `the password in a Secret of ${tenant} is in Secret in ${tenant}`,
  ...["Machine", "Task"].map((kind) => `the webhook's header of ${tenant} is in ${kind} in ${tenant}`),
  ...[
    ...["the state directory", "an action's page", "docker inspect", "the worker's log"],
    ...[`a Workflow of ${tenant}`, "a report to the tink server"],
  ].map((place) => `the output of ${tenant} is in ${place}`),
];

export const TENANTS = ["team-a", "team-b"] as const;
export type Tenant = (typeof TENANTS)[number];
export const otherThan = (tenant: Tenant): Tenant => (tenant === "team-a" ? "team-b" : "team-a");

/**
 * Two tenants of one worker that has every feature on: inventory file and cluster, Rufio's Jobs, PBnJ's API, status page, metrics,
 * action logs, traces, drift. Each tenant has machines and, in each place that takes one, a secret of its own.
 */
export async function openTenantsLab({ containers }: Setting) {
  const id = randomBytes(3).toString("hex");
  const jwtSecret = randomBytes(32).toString("hex");
  const httpToken = randomBytes(32).toString("hex");
  const planted: Canary[] = [
    { name: "the API's signing secret", owner: "operator", text: jwtSecret, isSecret: true },
    { name: "the status page's token", owner: "operator", text: httpToken, isSecret: true },
  ];
  const plant = (tenant: Tenant, place: string, text = newPassword(), isSecret = true): string => {
    planted.push({ name: `${place} of ${tenant}`, owner: tenant, text, isSecret });
    return text;
  };
  const passwords = new Map<string, string>();
  for (const tenant of TENANTS) {
    passwords.set(`${tenant}-file`, plant(tenant, "the password in a file"));
    passwords.set(`${tenant}-node`, plant(tenant, "the password in a Secret"));
  }
  const machines = [...passwords].map(([name, password]) => {
    const bmc = { password, tls: name.endsWith("-file") ? ("http" as const) : undefined };
    return [name, { power: "on" as const, powerOffMs: 10, powerOnMs: 10, bmc }] as const;
  });
  const base = await openLab({
    server: { holdMs: 1_000 },
    machines: Object.fromEntries(machines),
    policy: policyText({
      tenants: [
        ...TENANTS.map((name) => ({ namespaces: [name], machines: [`${name}-*`] })),
        { namespaces: ["pbnj", "drift"], machines: ["*"] },
      ],
    }),
  });
  const { path, server } = base;
  const collector = base.own(await startCollector());
  const namespaces = [...TENANTS, "pbnj"];
  const { fake: cluster, kubeconfig } = await openFakeCluster({ namespaces, namespace: "pbnj" }, base);

  const entries: object[] = [];
  const marks = new Map<Tenant, string>();
  const tokens = new Map<Tenant, string>();
  for (const tenant of TENANTS) {
    // It has nothing in common with a password, of which parts are redacted too.
    marks.set(tenant, plant(tenant, "the output", `private-${randomBytes(12).toString("hex")}`, false));
    const token = hs256({ sub: tenant, machines: [`${tenant}-*`], exp: soon() }, jwtSecret);
    tokens.set(tenant, token);
    plant(tenant, "the API token", token.split(".").at(-1));

    const password = passwords.get(`${tenant}-file`) ?? "";
    const passwordFile = await base.write(`${tenant}-password`, password);
    const { machines } = base.inventoryOf([`${tenant}-file`]);
    entries.push({ ...machines[0], credentials: { username: "admin", passwordFile } });

    const hmac = plant(tenant, "the hmac secret");
    const header = plant(tenant, "the webhook's header", `token-${randomBytes(12).toString("hex")}`);
    const create = (kind: string, name: string, more: object, annotations = {}) =>
      cluster.create(kind === "Secret" ? "v1" : BMC_API, kind, {
        metadata: { name, namespace: tenant, annotations },
        ...more,
      });
    create("Secret", "bmc", { stringData: { username: "admin", password: passwords.get(`${tenant}-node`) } });
    create("Secret", "hmac", { stringData: { secret: hmac } });
    const bmc = base.bmc(`${tenant}-node`);
    const login = { insecureTLS: true, authSecretRef: { name: "bmc", namespace: tenant } };
    create(
      "Machine",
      `${tenant}-node`,
      {
        spec: {
          connection: { host: "127.0.0.1", ...login, providerOptions: { redfish: { port: bmc.port } } },
        },
      },
      { "pbnj-worker/desired": '{"power":"on"}' },
    );
    const consumer = base.own(await startRpcConsumer({ tls: "http" }));
    const rpc = {
      consumerURL: consumer.http.url,
      request: { staticHeaders: { "X-Token": [header] } },
      hmac: { secrets: { sha256: [{ name: "hmac", namespace: tenant }] } },
    };
    create("Machine", `${tenant}-hook`, {
      spec: { connection: { host: "hook", ...login, providerOptions: { rpc } } },
    });
    // What this tenant tries: the other's Secrets with a host, and a webhook, of its own.
    const other = otherThan(tenant);
    const theirs = { insecureTLS: true, authSecretRef: { name: "bmc", namespace: other } };
    const providerOptions = { redfish: { port: bmc.port } };
    create("Machine", `${tenant}-thief`, {
      spec: { connection: { host: "127.0.0.1", ...theirs, providerOptions } },
    });
    const stolen = { ...rpc, hmac: { secrets: { sha256: [{ name: "hmac", namespace: other }] } } };
    create("Machine", `${tenant}-hook-thief`, {
      spec: { connection: { host: "hook", ...login, providerOptions: { rpc: stolen } } },
    });
  }

  await base.write("inventory.yaml", { machines: entries });
  await base.write("jwt-secret", jwtSecret);
  await base.write("http-token", httpToken);
  const image = `${TRUSTED}/{action}:test`;
  const argv = base.argv(
    ...["--agent-id-pattern", `${id}-{machine}`, ...SPARE.flatMap((name) => ["--agent-id", `${id}-${name}`])],
    ...["--stop-grace", "1s", "--log-level", "debug"],
    ...["--kubeconfig", kubeconfig, "--watch-namespace", "*", "--kubernetes-inventory", "machines"],
    ...["--rufio", "--rufio-alone", "--rufio-image", image, "--rufio-status-interval", "5s"],
    ...["--drift-interval", "1m", "--drift-image", image, "--agent-attributes"],
    ...["--http-address", "127.0.0.1:0", "--http-token-file", path("http-token")],
    ...[...PBNJ_API, "--pbnj-jwt-secret-file", path("jwt-secret")],
    ...(containers
      ? ["--runtime", "docker", ...dockerArgv()]
      : ["--runtime", "process", "--actions-directory", path("none")]),
  );
  const lanes = [...SPARE, ...TENANTS.map((tenant) => `${tenant}-file`)];
  const agentIds = [...lanes.map((name) => `${id}-${name}`), "rufio", "pbnj", "drift"];
  const canaries = new Canaries(planted);
  const workflows = new Map<Workflow, Tenant>();
  const answers = new Map<Tenant, string[]>(TENANTS.map((tenant) => [tenant, []]));
  const workers: { readonly program: WorkerProgram; readonly watcher: Watcher; read: number }[] = [];
  let exportsRead = 0;
  let submitted = 0;

  const lookAtHost = (where: string, content: string | Buffer) => canaries.look(where, content, anySecret);
  const start = (): void => {
    const program = new WorkerProgram(argv, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
    const pid = program.child.pid ?? 0;
    const stateDirectory = path("state");
    workers.push({
      program,
      watcher: new Watcher({ pid, stateDirectory, agentIds, containers, look: lookAtHost }),
      read: 0,
    });
    base.own(program);
  };
  if (containers) base.defer(async () => removeContainers(...(await containersOf(agentIds, LABEL.agent))));
  start();
  const current = () => {
    const worker = workers.at(-1);
    if (!worker) throw new Error("no worker was started");
    return worker.program;
  };
  const urlOf = async (message: string, field: string) =>
    String((await current().untilLogged(message))[field]);
  const pageOf = async (page: string, token?: string): Promise<string> => {
    const url = await urlOf("serving the status page, metrics and health", "address");
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const response = await fetch(`${url}${page}`, { headers, signal: AbortSignal.timeout(10_000) });
    return `${JSON.stringify([...response.headers])}${await response.text()}`;
  };

  await urlOf("serving PBnJ's API", "url");

  async function lookAtPages(): Promise<void> {
    for (const page of PAGES) {
      canaries.look(`${page} without a token`, await pageOf(page).catch(() => ""), anyCanary);
      canaries.look(`${page}`, await pageOf(page, httpToken).catch(() => ""), anySecret);
    }
    const status = await pageOf("/status.json", httpToken).catch(() => "");
    for (const [, key] of status.matchAll(/"key":"([0-9a-f]{32})"/g))
      canaries.look(
        "an action's page",
        await pageOf(`/actions/${key}`, httpToken).catch(() => ""),
        anySecret,
      );
  }

  async function lookAtFiles(): Promise<void> {
    const found = await readdir(path("state"), { recursive: true, withFileTypes: true });
    for (const { parentPath, name } of found.filter((entry) => entry.isFile())) {
      const content = await readFile(join(parentPath, name)).catch(() => "");
      canaries.look("the state directory", content, anySecret);
    }
  }

  function lookAtCluster(): void {
    const kinds = [
      ...[BMC_API].flatMap((api) => ["Machine", "Job", "Task"].map((kind) => [api, kind] as const)),
      ...["Secret", "ConfigMap", "Event", "Pod"].map((kind) => ["v1", kind] as const),
      ...[["batch/v1", "Job"] as const, ["coordination.k8s.io/v1", "Lease"] as const],
    ];
    for (const [api, kind] of kinds) {
      for (const namespace of [...TENANTS, "pbnj", "default"]) {
        // What a tenant wrote itself, and the Task, in which Rufio keeps the connection of the Job's Machine.
        const isOwn = ["Secret", "Machine", "Task"].includes(kind);
        const text = JSON.stringify(cluster.list(api, kind, namespace));
        canaries.look(`${kind} in ${namespace}`, text, ({ owner }) => !(isOwn && owner === namespace));
      }
    }
  }

  return {
    id,
    server,
    cluster,
    collector,
    mark: (tenant: Tenant): string => marks.get(tenant) ?? "",

    /** Kills the worker, which has no time to clean up, and starts the next one. */
    async restart(): Promise<void> {
      current().kill("SIGKILL");
      await current().ended;
      start();
    },

    /** Runs one action of a tenant's Workflow, with the agent ID of a machine, or of none: the machine is then named. */
    async run(tenant: Tenant, machine: string, step: Step, by: "agent ID" | "name" = "name") {
      const spare = SPARE[submitted % SPARE.length];
      const named = { ...step, environment: { MACHINE: machine, ...step.environment } };
      const [agent, given] = by === "name" ? [spare, named] : [machine, step];
      const workflow = server.submit({
        ...{ name: `w-${id}-${submitted++}`, namespace: tenant },
        template: templateOf(`${id}-${agent}`, trusted({ timeout: 60, ...given })),
      });
      workflows.set(workflow, tenant);
      await server.until(() => isOver(workflow), WITHIN_MS).catch(() => undefined);
      const messages = workflow.tasks.flatMap(({ actions }) => actions.map(({ message }) => message));
      return { state: workflow.state, message: messages.join("\n") };
    },

    /** Calls PBnJ's API as a tenant, or without a token. */
    async call(tenant: Tenant | undefined, method: string, body: object) {
      const url = await urlOf("serving PBnJ's API", "url");
      const token = tenant && tokens.get(tenant);
      const headers = {
        "content-type": "application/json",
        ...(token ? { authorization: `Bearer ${token}` } : {}),
      };
      const response = await fetch(`${url}/${SERVICES}.${method}`, {
        ...{ method: "POST", headers, body: JSON.stringify(body), signal: AbortSignal.timeout(10_000) },
      });
      const text = await response.text();
      if (tenant) answers.get(tenant)?.push(text);
      else canaries.look("an answer of PBnJ's API without a token", text, anyCanary);
      return { status: response.status, text };
    },

    /** Looks everywhere that someone may read, and gives what was found there and should not be. */
    async look(): Promise<readonly string[]> {
      await Promise.all([lookAtPages(), lookAtFiles()]);
      lookAtCluster();
      for (const worker of workers) {
        const { stderr, stdout } = worker.program;
        canaries.look("the worker's log", stderr.slice(Math.max(0, worker.read - OVERLAP)), anySecret);
        canaries.look("the worker's output", stdout, anySecret);
        worker.read = stderr.length;
      }
      const fresh = collector.exports.slice(exportsRead);
      exportsRead += fresh.length;
      for (const { headers, body } of fresh)
        canaries.look("a trace", Buffer.concat([Buffer.from(JSON.stringify(headers)), body]), anySecret);
      const attributes = JSON.stringify([...server.attributes.values()]);
      canaries.look("a machine's attributes", attributes, anyCanary);
      for (const tenant of TENANTS) {
        const isForbidden = (canary: Canary) => canary.isSecret || canary.owner !== tenant;
        for (const [workflow] of [...workflows].filter(([, owner]) => owner === tenant))
          canaries.look(`a Workflow of ${tenant}`, JSON.stringify(workflow.tasks), isForbidden);
        canaries.look(
          `an answer of PBnJ's API to ${tenant}`,
          (answers.get(tenant) ?? []).join("\n"),
          isForbidden,
        );
        answers.set(tenant, []);
      }
      for (const workflow of workflows.keys()) {
        if (!isOver(workflow)) continue;
        workflows.delete(workflow);
        server.board.delete(workflow);
      }
      canaries.look("a report to the tink server", JSON.stringify(server.reports.slice(-500)), anySecret);
      return canaries.findings;
    },

    /** Everything that was found, also by those who watched the host meanwhile, and what should have been seen and was not. */
    async findings(): Promise<readonly string[]> {
      for (const { watcher } of workers) await watcher.end();
      return [...canaries.findings, ...canaries.unseen(TENANTS.flatMap(EXPECTED))];
    },

    async [Symbol.asyncDispose]() {
      for (const { watcher } of workers) await watcher.end();
      await base[Symbol.asyncDispose]();
    },
  };
}

const soon = () => Math.floor(Date.now() / 1_000) + 86_400;

function hs256(claims: object, secret: string): string {
  const parts = [{ alg: "HS256" }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString("base64url"),
  );
  const text = parts.join(".");
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}
