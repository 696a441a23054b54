import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Browser, chromium } from "playwright-core";
import { parseDocument } from "yaml";
import { startLab } from "../cli/lab/lab.ts";
import { labTemplate } from "../cli/lab/template.ts";
import { startWorker } from "../examples/demo/worker-process.ts";
import { startTinkServer } from "../simulators/tink/server.ts";

/** `npm run screenshots`: pictures of the status page for the documentation, from a worker that serves a lab. */
const FOLDER = join(import.meta.dirname, "../docs/reference/status-page");
const MACHINES = 30;
const WIDTH = 1_280;
const HEIGHT = 900;
const WAIT_MS = 300_000;
/** The slow and the unreachable ones are the last to end. */
const BUSY_MS = 1_500;

interface Picture {
  readonly file: string;
  readonly path: string;
  /** If not `WIDTH` and `HEIGHT`. */
  readonly size?: { readonly width: number; readonly height: number };
}

await using stack = new AsyncDisposableStack();
const server = stack.adopt(await startTinkServer(), (started) => started.close());
const lab = stack.adopt(
  await startLab({
    machines: MACHINES,
    faults: true,
    times: { powerOnMs: 400, powerOffMs: 200, softOffMs: 300 },
  }),
  (started) => started.close(),
);
const names = lab.machines.map(({ machine }) => machine.name);
const logFile = join(lab.directory, "worker.log");
stack.adopt(
  startWorker(
    [
      ...["--grpc-server", server.address, "--inventory", lab.inventoryFile, "--log-format", "json"],
      ...["--http-address", "127.0.0.1:0", "--state-directory", join(lab.directory, "state")],
    ],
    logFile,
  ),
  async (started) => void (await started.stop()),
);
const url = await addressOf(logFile);

for (const name of names) submit(name, "bmc-info", templateOf("bmc-info"));
await until(({ ended, open }) => open === 0 && ended >= MACHINES);
for (const name of names) submit(name, "network-boot", labTemplate);
await until(({ ended }) => ended >= 2 * MACHINES);
await pause("node-27", "fan replacement");
for (const name of names.slice(4, 22))
  submit(name, "cycle", templateOf("power-cycle", "set-disk-persistent"));
await sleep(BUSY_MS);

const pictures: readonly Picture[] = [
  { file: "../../pictures/status-page.png", path: "/", size: { width: 960, height: 560 } },
  { file: "overview.png", path: "/" },
  { file: "machine.png", path: "/machines/node-02" },
  { file: "workflow.png", path: "/workflows/default/network-boot-node-03" },
];
await rm(FOLDER, { recursive: true, force: true });
await mkdir(FOLDER, { recursive: true });
const browser = stack.adopt(
  await chromium.launch({ executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium" }),
  (started) => started.close(),
);
for (const picture of pictures) await take(browser, picture);

async function take(from: Browser, { file, path, size }: Picture): Promise<void> {
  const context = await from.newContext({
    viewport: size ?? { width: WIDTH, height: HEIGHT },
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  await page.goto(`${url}${path}`);
  await page.locator('#live[data-state="live"]').waitFor();
  await page.screenshot({ path: join(FOLDER, file) });
  await context.close();
  process.stdout.write(`${file}\n`);
}

function submit(machine: string, workflow: string, template: string): void {
  server.submit({ name: `${workflow}-${machine}`, template, values: { machine } });
}

function templateOf(...actions: readonly string[]): string {
  const [head = "", first = ""] = labTemplate.split(/(?<=actions:\n)/);
  const [example = ""] = first.split(/(?= {6}- name: )/);
  return head + actions.map((action) => example.replaceAll("power-off", action)).join("");
}

interface Counts {
  readonly ended: number;
  readonly open: number;
}

function until(fits: (counts: Counts) => boolean): Promise<void> {
  return untilStatus(({ actions }) => {
    const ended = actions.filter(({ phase }) => phase === "succeeded" || phase === "failed").length;
    return fits({ ended, open: actions.length - ended });
  });
}

interface Status {
  readonly actions: readonly { readonly machine?: string; readonly name: string; readonly phase: string }[];
  readonly machines: readonly { readonly name: string; readonly paused?: object }[];
}

async function untilStatus(fits: (status: Status) => boolean): Promise<void> {
  const limit = AbortSignal.timeout(WAIT_MS);
  while (!fits((await (await fetch(`${url}/status.json`)).json()) as Status)) {
    await sleep(500, undefined, { signal: limit });
  }
}

/** After its workflow, as an operator does it: in the inventory, which the worker reads again. */
async function pause(machine: string, reason: string): Promise<void> {
  await untilStatus(({ actions }) =>
    actions.some(
      (action) => action.machine === machine && action.name === "power-on" && action.phase === "succeeded",
    ),
  );
  const inventory = parseDocument(await readFile(lab.inventoryFile, "utf8"));
  inventory.setIn(["machines", names.indexOf(machine), "paused"], reason);
  await writeFile(lab.inventoryFile, inventory.toString());
  await untilStatus(({ machines }) =>
    machines.some(({ name, paused }) => name === machine && paused !== undefined),
  );
}

/** The page's address, from the worker's log. */
async function addressOf(file: string): Promise<string> {
  const limit = AbortSignal.timeout(WAIT_MS);
  for (;;) {
    const text = await readFile(file, "utf8").catch(() => "");
    const address = /"address":"(http:[^"]+)"/.exec(text)?.[1];
    if (address) return address;
    await sleep(200, undefined, { signal: limit });
  }
}
