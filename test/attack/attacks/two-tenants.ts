import { type Attack, unless } from "../attack.ts";
import { printing } from "../lab.ts";
import { BMC_API, openTenantsLab, otherThan, TENANTS, type Tenant } from "../tenants-lab.ts";

const ROUNDS = 2;
/** In base64 and others, what the worker promises to find. */
const FORMS = ["plain", "json", "html", "percent", "base64", "base64-wrapped", "hex", "hex-upper"];

type Lab = Awaited<ReturnType<typeof openTenantsLab>>;

export const attack: Attack = {
  tries:
    "two tenants of a worker with every feature on print their own secrets, ask for the other's machines, Secrets and tasks, and read all they can, while the worker is killed again and again",
  holds:
    "no secret is anywhere, no private text of one is where the other reads, and each uses only its own machines",
  needsContainers: true,
  async run(setting) {
    await using lab = await openTenantsLab(setting);
    const reasons = new Set<string>();
    const endMs = performance.now() + (setting.minutes ?? 0) * 60_000;
    let round = 0;
    for (; round < ROUNDS || performance.now() < endMs; round += 1) {
      const said = await Promise.all([
        ...TENANTS.map((tenant) => roundOf(lab, tenant, round)),
        anonymous(lab),
        round % 3 === 1 ? lab.restart().then(() => []) : [],
      ]);
      for (const reason of said.flat()) reasons.add(reason);
      for (const found of await lab.look()) reasons.add(found);
    }
    for (const found of await lab.findings()) reasons.add(found);
    return [
      ...reasons,
      ...unless(lab.collector.spans.length > 0, "the collector got no trace"),
      ...unless(rufioEnds(lab).includes("Completed"), "no Job of Rufio's was done"),
    ];
  },
};

async function roundOf(lab: Lab, tenant: Tenant, round: number): Promise<readonly string[]> {
  const other = otherThan(tenant);
  const printed = [
    printing(`${lab.mark(tenant)}\n`),
    ...FORMS.map((form) => `form:${form}`),
    printing("\n"),
    "split:3",
    `err:${Buffer.from("SECRET\n").toString("base64")}`,
    // Its last line is quoted in the report.
    `err:${Buffer.from(`${lab.mark(tenant)} SECRET\n`).toString("base64")}`,
  ];
  const own = [
    lab.run(
      tenant,
      `${tenant}-file`,
      { name: "hostile", command: [...printed, `exit:${round % 2}`] },
      "agent ID",
    ),
    lab.run(tenant, `${tenant}-node`, { name: "hostile", command: [...printed, "exit:1"] }),
    lab.run(tenant, `${tenant}-file`, { name: "power-status" }, "agent ID"),
    lab.run(tenant, `${tenant}-node`, { name: "power-status" }),
    lab.run(tenant, `${tenant}-hook`, { name: "power-status" }),
  ];
  const off = { name: "power-off", environment: { MODE: "hard" } };
  const theirs = [
    lab.run(tenant, `${other}-file`, off, "agent ID"),
    ...[`${other}-file`, `${other}-node.${other}`].flatMap((machine) => [
      lab.run(tenant, machine, off),
      lab.run(tenant, machine, { name: "hostile", command: ["form:plain"] }),
    ]),
  ];
  const stolen = [`${tenant}-thief`, `${tenant}-hook-thief`].map((machine) =>
    lab.run(tenant, machine, { name: "power-status" }),
  );
  const add = (name: string, machine: string, namespace: string) =>
    lab.cluster.create(BMC_API, "Job", {
      metadata: { name: `${name}-${round}`, namespace: tenant },
      spec: { machineRef: { name: machine, namespace }, tasks: [{ powerAction: "status" }] },
    });
  add("own", `${tenant}-node`, tenant);
  add("hook", `${tenant}-hook`, tenant);
  add("theirs", `${other}-node`, other);
  add("their-hook", `${other}-hook`, other);
  add("thief", `${tenant}-thief`, tenant);

  const called = pbnj(lab, tenant);
  const [mine, refused, failed] = await Promise.all([
    Promise.all(own),
    Promise.all(theirs),
    Promise.all(stolen),
  ]);
  await called;
  // A killed worker may have left an action without an end of its own: the one that prints is not idempotent.
  const statuses = mine.slice(2);
  return [
    ...statuses.flatMap(({ state, message }) =>
      unless(state === "SUCCESS", `${tenant}'s own action: ${state} ${message}`),
    ),
    ...refused.flatMap(({ state, message }) =>
      unless(state === "FAILED" && /policy tenants/.test(message), `${other}'s machine: ${state} ${message}`),
    ),
    ...failed.flatMap(({ state, message }) =>
      unless(state === "FAILED", `${other}'s Secret was used: ${state} ${message}`),
    ),
  ];
}

/** What a tenant asks PBnJ's API for: its own machine, the other's, and a login of its own. The worker may be gone meanwhile. */
async function pbnj(lab: Lab, tenant: Tenant): Promise<void> {
  const status = { powerAction: "POWER_ACTION_STATUS" };
  const machine = (host: string) => ({ authn: { externalAuthn: { host: { host } } }, ...status });
  const ask = (method: string, body: object) =>
    lab.call(tenant, method, body).catch(() => ({ status: 0, text: "" }));
  const { text } = await ask("Machine/Power", machine(`${tenant}-file`));
  await ask("Machine/Power", machine(`${otherThan(tenant)}-file`));
  const direct = { host: { host: "127.0.0.1" }, username: "admin", password: "secret" };
  await ask("Machine/Power", { authn: { directAuthn: direct }, ...status });
  const taskId = /"taskId":"([^"]+)"/.exec(text)?.[1];
  if (taskId === undefined) return;
  await ask("Task/Status", { taskId });
  await lab.call(otherThan(tenant), "Task/Status", { taskId }).catch(() => undefined);
}

async function anonymous(lab: Lab): Promise<readonly string[]> {
  const body = { authn: { externalAuthn: { host: { host: "team-a-file" } } } };
  const answer = await lab.call(undefined, "Machine/Power", body).catch(() => ({ status: 401, text: "" }));
  return unless(answer.status === 401, `the API without a token: ${answer.status} ${answer.text}`);
}

/** The status of all Jobs as JSON. It contains `Completed` once a Job has ended. */
function rufioEnds(lab: Lab): string {
  return JSON.stringify(lab.cluster.list(BMC_API, "Job").map(({ status }) => status));
}
