import { expect, it } from "vitest";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab, type TestedProvider } from "./lab.ts";

const TASKS = JSON.stringify([
  { powerAction: "off" },
  { bootDevice: { device: "pxe", efiBoot: true } },
  { powerAction: "on" },
]);

/** The list, and what does the same without it: name and variables. */
const ONE_LIST = [["run-tasks", { TASKS }]] as const;
const THREE_ACTIONS = [
  ["power-off", { MODE: "hard" }],
  ["set-pxe-once", { MODE: "uefi" }],
  ["power-on", {}],
] as const;

interface Way {
  readonly title: string;
  readonly provider: TestedProvider;
  readonly auth?: "session";
  /** Whether each run knows what an earlier one learned about the BMC, as under a worker. */
  readonly known?: true;
  readonly list: Cost;
  readonly actions: Cost;
}

interface Cost {
  readonly processes: number;
  readonly roundTrips: number;
  /** Redfish connections, or sessions where there are any. */
  readonly openings: number;
}

const cost = (processes: number, roundTrips: number, openings: number): Cost => ({
  processes,
  roundTrips,
  openings,
});

/** The table in the action's README. */
const WAYS: readonly Way[] = [
  { title: "Redfish, basic", provider: "redfish", list: cost(1, 10, 1), actions: cost(3, 13, 3) },
  {
    title: "Redfish, basic, known BMC",
    provider: "redfish",
    known: true,
    list: cost(1, 9, 1),
    actions: cost(3, 9, 3),
  },
  {
    title: "Redfish, sessions",
    provider: "redfish",
    auth: "session",
    list: cost(1, 12, 1),
    actions: cost(3, 19, 3),
  },
  { title: "IPMI", provider: "ipmi", list: cost(1, 12, 1), actions: cost(3, 18, 3) },
];

it.each(WAYS)("off, PXE once, on: one list costs less than three actions ($title)", async (way) => {
  const list = await costOf(way, ONE_LIST);
  const actions = await costOf(way, THREE_ACTIONS);

  expect(list).toEqual(way.list);
  expect(actions).toEqual(way.actions);
});

async function costOf(
  { provider, auth, known }: Way,
  runs: readonly (readonly [string, Readonly<Record<string, string>>])[],
): Promise<Cost> {
  // An answer takes longer than the machine needs, so that the first look after a command finds it there.
  const machine = { power: "on", powerOnMs: 0, powerOffMs: 0 } as const;
  await using lab = await actionLab({
    machine,
    redfish: { latencyMs: 15 },
    ipmi: { network: { latencyMs: 15 } },
  });
  const openings = () =>
    auth === "session"
      ? lab.redfish.log.filter((line) => line === "POST /redfish/v1/SessionService/Sessions").length
      : lab.redfish.connections + lab.ipmi.log.filter((name) => name === "RAKP1").length;
  let hint: unknown;
  const run = async (action: string, env: Readonly<Record<string, string>>) => {
    const connection = lab.connection(provider);
    const redfish = { ...connection.redfish, ...(auth ? { auth } : {}) };
    const stdin = JSON.stringify({ ...connection, redfish, ...(known ? { hint } : {}) });
    const said = resultOf(await runAction(action, { env: { BMC_CONNECTION_FILE: "-", ...env }, stdin }));
    expect(said).toMatchObject({ ok: true });
    hint = said.hint;
    return said.roundTrips;
  };
  if (known) await run("power-status", {});
  const before = openings();
  let roundTrips = 0;
  for (const [action, env] of runs) roundTrips += await run(action, env);
  expect(lab.done()).toEqual(["off", "on"]);
  expect(lab.machine.lastBoot).toMatchObject({ device: "pxe", mode: "uefi", overridden: true });
  return cost(runs.length, roundTrips, openings() - before);
}
