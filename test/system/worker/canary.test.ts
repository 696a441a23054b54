import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import { beforeAll, describe, expect, test } from "vitest";
import { HttpListener } from "../../../simulators/http-listener.ts";
import { startIpmiBmc } from "../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { json, startRpcConsumer } from "../../../simulators/rpc/consumer.ts";
import { isOver, type Workflow } from "../../../simulators/tink/workflow.ts";
import { LABEL } from "../../../worker/runtimes/docker/container-spec.ts";
import { eventually } from "../../actions/lab.ts";
import { buildActionImages } from "../../support/action-images.ts";
import { describeWithDocker, dockerSocketPath } from "../../support/docker.ts";
import { openLab, templateOf } from "../../support/lab.ts";
import { WorkerProgram } from "../../support/worker-program.ts";

const REGISTRY = "localhost/pbnj-worker-canary-test";

/** Each differs in every form; IPMI takes 20 bytes at most, and HTTP's basic authentication no control characters. */
const CANARIES = {
  password: 'cn1"pass&/+%7f',
  wrong: 'cn2"wrong&/+%7f',
  kg: 'cn3"key&/+%7f',
  webhook: 'cn4"hook&/+%7f',
  variable: 'cn5"var&/+%7f',
  command: 'cn6"cmd&/+%7f',
  commandKg: 'cn7"ckg&/+%7f',
  registry: 'cn8"reg&/+%7f',
  inventory: 'cn9"inv&/+%7f',
} as const;
const USER = "admin";

/** The forms in which canaries may occur, derived independently of the worker's own code. */
const TRACES: readonly (readonly [name: string, trace: string])[] = Object.entries(CANARIES).flatMap(
  ([name, canary]) => {
    const bytes = Buffer.from(canary);
    const traces = [
      canary,
      JSON.stringify(canary).slice(1, -1),
      canary.replaceAll("&", "&amp;").replaceAll('"', "&quot;"),
      encodeURIComponent(canary),
      bytes.toString("hex"),
      bytes.toString("hex").toUpperCase(),
      // Only in base64 is a canary another text behind a user's name.
      ...[canary, `${USER}:${canary}`].flatMap((text) => [
        Buffer.from(text).toString("base64").replace(/=+$/, ""),
        Buffer.from(text).toString("base64url"),
      ]),
    ];
    return [...new Set(traces)].map((trace) => [name, trace] as const);
  },
);

function tracesIn(text: string): readonly string[] {
  return [...new Set(TRACES.filter(([, trace]) => text.includes(trace)).map(([name]) => name))];
}

/** Times on the status page that change with the clock, so that every reading would differ. */
const TICKING = /<time data-elapsed[^>]*>[^<]*<\/time>/g;
/** Every page that the worker serves, but for those of actions. */
const SERVED = ["/metrics", "/healthz", "/readyz", "/", "/actions", "/agent-ids"];

/**
 * Looks, for as long as it lives, at all of a worker that other users of its machine, or a backup, could see: its
 * processes with those of its children and containers, its state directory, its containers.
 */
class Observer {
  readonly seen = new Set<string>();
  readonly #stateDirectory: string;
  readonly #worker: number;
  /** Where the worker serves what everybody on its machine may read. */
  readonly #pages: Promise<string>;
  readonly #work: Promise<unknown>;
  /** The containers' own processes, which are no children of the worker. */
  #contained: readonly number[] = [];
  readonly #engine = new Agent({ connect: { socketPath: dockerSocketPath } });
  #over = false;

  constructor(stateDirectory: string, worker: number, pages: Promise<string>, withDocker: boolean) {
    this.#stateDirectory = stateDirectory;
    this.#worker = worker;
    this.#pages = pages;
    this.#work = Promise.all([
      this.#untilOver(() => this.#lookAtProcesses()),
      this.#untilOver(() => this.#lookAtFiles(this.#stateDirectory)),
      // They are long, differ every time, and show what has ended, too.
      this.#untilOver(() => this.#lookAtPages(), 500),
      ...(withDocker ? [this.#untilOver(() => this.#lookAtContainers(), 250)] : []),
    ]);
  }

  async end(): Promise<string> {
    this.#over = true;
    await this.#work;
    await this.#engine.close();
    this.#lookAtFiles(this.#stateDirectory);
    return [...this.seen].join("\n");
  }

  /** Programs may be short. A container stays until its report is acknowledged, and each look asks the engine twice about it. */
  async #untilOver(look: () => void | Promise<void>, everyMs = 20): Promise<void> {
    while (!this.#over) {
      await look();
      await sleep(everyMs);
    }
  }

  #lookAtProcesses(): void {
    const found = new Set([this.#worker, ...this.#contained]);
    for (const pid of found) for (const child of childrenOf(pid)) found.add(child);
    const own = this.#read(`/proc/${this.#worker}/cmdline`);
    for (const pid of found) {
      // What the operator put into the worker's own environment is there, also in its copy that is about to become
      // another program; it must not get any further.
      const program = this.#read(`/proc/${pid}/cmdline`);
      if (program !== own) this.#read(`/proc/${pid}/environ`);
    }
  }

  #lookAtFiles(directory: string): void {
    const entries = ifThere(() => readdirSync(directory, { recursive: true, withFileTypes: true })) ?? [];
    for (const entry of entries) if (entry.isFile()) this.#read(join(entry.parentPath, entry.name));
  }

  async #lookAtPages(): Promise<void> {
    const pages = await this.#pages.catch(() => "");
    for (const path of SERVED) await this.#get(`${pages}${path}`);
    const status = await this.#get(`${pages}/status.json`);
    for (const [, key] of status.matchAll(/"key":"([0-9a-f]{32})"/g))
      await this.#get(`${pages}/actions/${key}`);
  }

  async #get(url: string): Promise<string> {
    try {
      const response = await fetch(url);
      const text = (await response.text()).replace(TICKING, "").replace(/"\w*(?:Ms|MsAgo)":\d+,?/g, "");
      this.seen.add(JSON.stringify([...response.headers])).add(text);
      return text;
    } catch {
      // It has stopped, or never started; the expectations below show it.
      return "";
    }
  }

  async #lookAtContainers(): Promise<void> {
    const filters = encodeURIComponent(JSON.stringify({ label: [LABEL.action] }));
    const listed = await this.#askEngine(`/containers/json?all=1&filters=${filters}`);
    const pids: number[] = [];
    for (const [, id] of listed.matchAll(/"Id":"([0-9a-f]{64})"/g)) {
      const details = await this.#askEngine(`/containers/${id}/json`);
      const pid = Number(/"Pid":(\d+)/.exec(details)?.[1] ?? 0);
      if (pid > 0) pids.push(pid);
      await this.#askEngine(`/containers/${id}/logs?stdout=1&stderr=1`);
    }
    this.#contained = pids;
  }

  /** What `docker ps`, `docker inspect` and `docker logs` ask. */
  async #askEngine(path: string): Promise<string> {
    const answer = await request(`http://engine${path}`, { dispatcher: this.#engine });
    const text = await answer.body.text();
    if (answer.statusCode === 200) this.seen.add(text);
    return text;
  }

  #read(path: string): string {
    const text = textIn(path);
    if (text !== "") this.seen.add(text.replaceAll("\0", "\n"));
    return text;
  }
}

/** Child processes of the main thread, which starts all of them (proc_pid_task(5)). */
function childrenOf(pid: number): readonly number[] {
  return textIn(`/proc/${pid}/task/${pid}/children`).trim().split(" ").filter(Boolean).map(Number);
}

/** Empty when there is none. A look reads many files, fifty times a second: as promises they would take most of the test's time. */
function textIn(path: string): string {
  return ifThere(() => readFileSync(path, "utf8")) ?? "";
}

/** Undefined for what ended or was removed meanwhile. */
function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** A BMC that refuses everything with all that it was sent, as it came and decoded. */
function echo(status: number): HttpListener {
  const links = { Systems: { "@odata.id": "/redfish/v1/Systems" } };
  return new HttpListener({ tls: "http" }, ({ method, path, headers, body }) => {
    if (method === "GET" && /^\/redfish\/v1\/?$/.test(path)) {
      return json(200, { "@odata.id": "/redfish/v1", RedfishVersion: "1.9.0", ...links });
    }
    const authorization = headers.authorization ?? "";
    const decoded = Buffer.from(authorization.replace(/^Basic /, ""), "base64").toString("utf8");
    const message = `cannot take ${method} ${path} of ${decoded} with ${JSON.stringify(headers)} and ${body}`;
    return json(status, { error: { code: "Base.1.8.GeneralError", message } });
  });
}

/** A program like a vault's client, which runs until it was looked at; `fails` with the secret on both streams. */
const vault = (fails: boolean) => `
  const secrets = JSON.stringify({ username: "${USER}", password: ${JSON.stringify(CANARIES.command)}, kg: ${JSON.stringify(CANARIES.commandKg)} });
  process.stdout.write(secrets);
  const timer = setInterval(() => {
    if (!require("node:fs").existsSync(__dirname + "/observed")) return;
    clearInterval(timer);
    if (!${fails}) return;
    process.stderr.write("cannot use " + secrets + "\\n");
    process.exitCode = 1;
  }, 20);
`;

interface Scenario {
  readonly machine: string;
  readonly action: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly state: "SUCCESS" | "FAILED";
  readonly message: RegExp;
  readonly image?: string;
}

const SUCCESSES: readonly Scenario[] = [
  {
    machine: "basic",
    action: "power-off",
    environment: { MODE: "soft" },
    state: "SUCCESS",
    message: /^off .* via redfish$/,
  },
  { machine: "session", action: "power-status", state: "SUCCESS", message: /^on via redfish$/ },
  { machine: "ipmi-kg", action: "power-status", state: "SUCCESS", message: /^on via ipmi$/ },
  { machine: "hooked", action: "power-status", state: "SUCCESS", message: /^on via rpc$/ },
  { machine: "by-variable", action: "power-status", state: "SUCCESS", message: /^on via redfish$/ },
  { machine: "by-command", action: "power-status", state: "SUCCESS", message: /^on via ipmi$/ },
];
const FAILURES: readonly Scenario[] = [
  {
    machine: "wrong-basic",
    action: "power-status",
    state: "FAILED",
    message: /\(auth, exit 10\): redfish: .*401/,
  },
  {
    machine: "wrong-session",
    action: "power-off",
    state: "FAILED",
    message: /\(auth, exit 10\): redfish: .*401/,
  },
  {
    machine: "wrong-ipmi",
    action: "power-status",
    state: "FAILED",
    message: /\(auth, exit 10\): ipmi: wrong/,
  },
  { machine: "wrong-kg", action: "power-status", state: "FAILED", message: /\(auth, exit 10\): ipmi: .*Kg/ },
  {
    machine: "wrong-hook",
    action: "power-status",
    state: "FAILED",
    message: /\(auth, exit 10\): rpc: .*401/,
  },
  { machine: "echo-400", action: "power-status", state: "FAILED", message: /\(bmc.*cannot take GET/ },
  { machine: "echo-401", action: "power-off", state: "FAILED", message: /\(auth.*cannot take GET/ },
  { machine: "echo-login", action: "power-status", state: "FAILED", message: /cannot take POST/ },
  {
    machine: "failing-command",
    action: "power-status",
    state: "FAILED",
    message: /exit code 1: its last output/,
  },
  { machine: "no-secret", action: "power-status", state: "FAILED", message: /holds more than one line/ },
];

function template(worker: string, { machine, action, environment = {}, image }: Scenario): string {
  return templateOf(worker, {
    name: action,
    image: image ?? `${REGISTRY}/${action}:test`,
    environment: { MACHINE: machine, LOG_LEVEL: "debug", ...environment },
  });
}

/** Every kind of machine with its secrets where the inventory says, and one worker for all of them. */
async function standing(runtime: string, argv: readonly string[]) {
  const scenarios = [...SUCCESSES, ...FAILURES];
  const base = await openLab({
    machines: {},
    argv: ["--agent-id", [...scenarios, "registry"].map((_, index) => `lane-${index}`).join()],
  });
  const { folder: directory, server, inventoryFile } = base;
  const { password, wrong, kg, webhook, variable, command, commandKg, registry } = CANARIES;
  const machine = (options = {}) => new SimulatedMachine({ power: "on", softOffMs: 3_000, ...options });
  const redfish = (right: string) => startRedfishBmc({ machines: [machine()], tls: "http", password: right });
  const users = (right: string) => [{ name: USER, password: right, privilege: "operator" as const }];
  const bmcs = {
    basic: await redfish(password),
    session: await redfish(password),
    variable: await redfish(variable),
    ipmi: await startIpmiBmc({ machine: machine(), users: users(password), kg }),
    command: await startIpmiBmc({ machine: machine(), users: users(command), kg: commandKg }),
    hook: await startRpcConsumer({
      tls: "http",
      signature: {
        algorithm: "sha256",
        secrets: [webhook],
        header: "x-bmclib-signature-256",
        included: [],
        prefixed: true,
      },
    }),
    echo400: echo(400),
    echo401: echo(401),
    echo500: echo(500),
  };
  for (const bmc of Object.values(bmcs)) base.own<AsyncDisposable>(bmc);
  for (const listener of [bmcs.echo400, bmcs.echo401, bmcs.echo500]) await listener.listen();
  const secret = async (name: string, text: string) => {
    await base.write(name, text);
    return name;
  };
  const passwordFile = await secret("password", `${password}\n`);
  const wrongFile = await secret("wrong", wrong);
  const kgFile = await secret("kg", kg);
  const wrongKgFile = await secret("wrong-kg", wrong);
  const broken = await secret("broken", `${password}\n${wrong}\n`);
  const hookFile = await secret("hook", webhook);
  await secret("vault.cjs", vault(false));
  await secret("failing-vault.cjs", vault(true));
  const registryFile = await secret("registry", registry);
  const http = (port: number, auth = "basic") => ({
    host: "127.0.0.1",
    providers: ["redfish"],
    redfish: { port, scheme: "http", auth },
  });
  const ipmi = (port: number, file?: string) => ({
    host: "127.0.0.1",
    providers: ["ipmi"],
    ipmi: { port, ...(file === undefined ? {} : { kgFile: file }) },
  });
  const rpc = (file: string) => ({
    host: "hooked",
    rpc: { url: `http://127.0.0.1:${bmcs.hook.http.port}/`, signature: { secrets: { sha256: [{ file }] } } },
  });
  const from = (given: object) => ({ credentials: given });
  const file = (name: string) => from({ username: USER, passwordFile: name });
  const inventory = {
    machines: [
      { name: "basic", ...http(bmcs.basic.port), ...file(passwordFile) },
      { name: "session", ...http(bmcs.session.port, "session"), ...file(passwordFile) },
      { name: "ipmi-kg", ...ipmi(bmcs.ipmi.port, kgFile), ...file(passwordFile) },
      { name: "hooked", ...rpc(hookFile) },
      {
        name: "by-variable",
        ...http(bmcs.variable.port),
        ...from({ username: USER, passwordEnv: "BMC_SECRET" }),
      },
      {
        name: "by-command",
        ...ipmi(bmcs.command.port),
        ...from({ command: [process.execPath, join(directory, "vault.cjs"), "{machine}"], timeout: "30s" }),
      },
      { name: "wrong-basic", ...http(bmcs.basic.port), host: "localhost", ...file(wrongFile) },
      { name: "wrong-session", ...http(bmcs.session.port, "session"), host: "localhost", ...file(wrongFile) },
      { name: "wrong-ipmi", ...ipmi(bmcs.ipmi.port, kgFile), ...file(wrongFile) },
      { name: "wrong-kg", ...ipmi(bmcs.ipmi.port, wrongKgFile), ...file(passwordFile) },
      { name: "wrong-hook", ...rpc(wrongFile), host: "other" },
      { name: "echo-400", ...http(bmcs.echo400.port), ...file(passwordFile) },
      { name: "echo-401", ...http(bmcs.echo401.port), ...file(passwordFile) },
      { name: "echo-login", ...http(bmcs.echo500.port, "session"), ...file(passwordFile) },
      {
        name: "failing-command",
        ...http(bmcs.basic.port),
        ...from({ command: [process.execPath, join(directory, "failing-vault.cjs")], timeout: "30s" }),
      },
      { name: "no-secret", ...http(bmcs.basic.port), ...file(broken) },
    ],
  };
  await base.write("inventory.yaml", inventory);
  const stateDirectory = base.path("state");
  const program = new WorkerProgram(
    base.argv(
      ...["--runtime", runtime, "--log-level", "debug", "--http-address", "127.0.0.1:0"],
      ...["--registry-name", "127.0.0.1:1", "--registry-user", USER],
      ...["--registry-pass-file", join(directory, registryFile), ...argv],
    ),
    // What programs would otherwise reveal about themselves.
    { BMC_SECRET: CANARIES.variable, NODE_DEBUG: "execa,undici,http,net" },
  );
  base.own(program);
  const pages = program
    .untilLogged("serving the status page, metrics and health")
    .then(({ address }) => String(address));
  const observer = new Observer(stateDirectory, program.child.pid ?? 0, pages, runtime === "docker");
  return {
    server,
    program,
    observer,
    directory,
    inventoryFile,
    scenarios,
    submit: (all: readonly Scenario[]): readonly Workflow[] =>
      all.map((scenario, index) => server.submit({ template: template(`lane-${index}`, scenario) })),
    [Symbol.asyncDispose]: base[Symbol.asyncDispose],
  };
}

type Standing = Awaited<ReturnType<typeof standing>>;

/** Runs everything at once, breaks the inventory, and stops. Gives all that was to be seen. */
async function runAll(lab: Standing, extra: readonly Scenario[] = []) {
  const scenarios = [...lab.scenarios, ...extra];
  const workflows = lab.submit(scenarios);
  // Sixteen actions start at once, and so many containers take their time.
  await eventually(() => [...lab.observer.seen].some((text) => text.includes("failing-vault.cjs")), 90_000);
  // What an action leaves behind is removed once its report is acknowledged.
  lab.server.faults.delay("ReportActionStatus", 3_000, scenarios.length);
  await writeFile(join(lab.directory, "observed"), "");
  await lab.server.until(() => workflows.every(isOver), 120_000);
  // An operator who pastes a password into the inventory while the worker runs.
  await writeFile(
    lab.inventoryFile,
    `machines:\n  - {name: a, host: h, password: '${CANARIES.inventory}'}\n`,
  );
  await lab.program.untilLogged("inventory reload failed, keeping the last valid one");
  lab.program.kill("SIGTERM");
  const { code } = await lab.program.ended;
  const observed = await lab.observer.end();
  const ends = workflows.map(({ state, tasks }, index) => ({
    machine: scenarios[index]?.machine,
    state,
    message: tasks[0]?.actions[0]?.message,
  }));
  const told = [
    lab.program.stdout,
    lab.program.stderr,
    JSON.stringify(lab.server.reports),
    JSON.stringify(ends),
  ];
  return { code, observed, ends, told: told.join("\n"), expected: scenarios.map(endOf) };
}

function endOf({ machine, state, message }: Scenario) {
  return { machine, state, message: expect.stringMatching(message) };
}

/** What shows that the observer looked where something was to be seen. */
const SEEN = [
  ...["acknowledged", "failing-vault.cjs", "PATH="],
  ...['pbnj_tasks_total{action="power-off",provider="redfish",class="none"} 1', '"name": "tink_server"'],
  ...['<ol class="log"', '"phase":"failed"', '"phase":"succeeded"'],
];
const SEEN_OF_PROCESSES = ["\naction\npower-off", "BMC_CONNECTION_FILE=-", '"roundTrips":'];

function notSeen(observed: string, expected: readonly string[]): readonly string[] {
  return expected.filter((text) => !observed.includes(text));
}

describe.each(["process", "in-process"])("no secret appears anywhere with the %s runtime", (runtime) => {
  test("in success and in failure, in whatever form", { timeout: 150_000 }, async () => {
    await using lab = await standing(runtime, []);

    const { code, observed, ends, told, expected } = await runAll(lab);

    expect(ends).toEqual(expected);
    expect(code).toBe(0);
    expect(notSeen(observed, runtime === "process" ? [...SEEN, ...SEEN_OF_PROCESSES] : SEEN)).toEqual([]);
    expect(told.includes('"level":20')).toBe(true);
    expect(tracesIn(observed)).toEqual([]);
    expect(tracesIn(told)).toEqual([]);
  });
});

describeWithDocker("no secret appears anywhere with the docker runtime", () => {
  beforeAll(() => buildActionImages(REGISTRY, ["power-off", "power-status"]), 300_000);

  test("in success and in failure, in whatever form", { timeout: 180_000 }, async () => {
    await using lab = await standing("docker", [
      ...["--docker-socket", dockerSocketPath, "--pull-policy", "if-missing", "--docker-network", "host"],
      "--unsafe-any-image",
    ]);
    const denied: Scenario = {
      machine: "basic",
      action: "power-status",
      image: "127.0.0.1:1/absent/power-status:v1",
      state: "FAILED",
      message: /127\.0\.0\.1:1/,
    };

    const { code, observed, ends, told, expected } = await runAll(lab, [denied]);

    expect(ends).toEqual(expected);
    expect(code).toBe(0);
    expect(notSeen(observed, [...SEEN, '"BMC_CONNECTION_FILE=-"', '"roundTrips":'])).toEqual([]);
    expect(tracesIn(observed)).toEqual([]);
    expect(tracesIn(told)).toEqual([]);
  });
});
