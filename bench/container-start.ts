import { execa } from "execa";
import { provideBase } from "../scripts/images/base-image.ts";
import { buildImage } from "../scripts/images/build-image.ts";
import { type ContainerEngine, findContainerEngine } from "../scripts/images/container-engine.ts";
import { formatTable } from "../shared/table.ts";
import { textOf } from "../shared/text-of.ts";
import { startIpmiBmc } from "../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../simulators/machine.ts";
import { startRedfishBmc } from "../simulators/redfish/bmc.ts";
import { median } from "./figures.ts";
import { inTurn, type Subject, verdictOf } from "./in-turn.ts";

const RUNS = 20;
const ACTION = "power-status";
const REGISTRY = "localhost/pbnj-worker";
const PASSWORD = "calvin";
const GIVE_UP_MS = 60_000;

/** One kind of container that is timed. */
interface TimedContainer {
  readonly title: string;
  /** Arguments of `docker run`. */
  readonly args: readonly string[];
  readonly exitCode: number;
  /** The goal, as a multiple of a bare Node on the same base. */
  readonly goal: number;
}

/**
 * The whole time of `docker run`, from the client's start to its end, beside that of a bare Node on the same base.
 * The action does all that it is for: it logs in to a simulated BMC of this machine, which answers at once, reads the
 * power, logs out and writes its result. A run that refuses its input shows what of it is the start alone. All run
 * on the host's network, so that making a network is in no figure. Where no engine answers: a line that says so.
 */
export async function containerStartTable(): Promise<string> {
  let engine: ContainerEngine;
  try {
    engine = await findContainerEngine();
  } catch (thrown) {
    return `start of a container: not measured, ${oneLine(thrown)}`;
  }
  const machine = new SimulatedMachine({ power: "on" });
  const redfish = await startRedfishBmc({ machines: [machine], password: PASSWORD });
  const ipmi = await startIpmiBmc({ machine, users: [{ name: "admin", password: PASSWORD }] });
  try {
    const { base, image } = await buildSubjects(engine);
    const login = { BMC_HOST: "127.0.0.1", BMC_USERNAME: "admin", BMC_PASSWORD: PASSWORD };
    const kinds: readonly TimedContainer[] = [
      { title: "bare node -e 0", args: ["--entrypoint", "node", base, "-e", "0"], exitCode: 0, goal: 1 },
      { title: `${ACTION} without input`, args: [image], exitCode: 2, goal: 1.15 },
      {
        title: `${ACTION}, ipmi`,
        args: [...given({ ...login, BMC_PROVIDERS: "ipmi", IPMI_PORT: String(ipmi.port) }), image],
        exitCode: 0,
        goal: 1.35,
      },
      {
        title: `${ACTION}, redfish`,
        args: [
          ...given({
            ...login,
            BMC_PROVIDERS: "redfish",
            REDFISH_PORT: String(redfish.port),
            BMC_TLS_FINGERPRINT: redfish.fingerprint,
          }),
          image,
        ],
        exitCode: 0,
        goal: 1.6,
      },
    ];
    const subjects = kinds.map((kind): Subject => [kind.title, () => timeContainer(engine, kind)]);
    return ratioTable(
      await inTurn(RUNS, subjects),
      kinds.map(({ goal }) => goal),
    );
  } catch (thrown) {
    return `start of a container: not measured, ${oneLine(thrown)}`;
  } finally {
    await Promise.all([redfish.close(), ipmi.close()]);
  }
}

/** The first kind is what the others are compared with. Times in milliseconds. */
export function ratioTable(
  times: readonly (readonly [string, readonly number[]])[],
  goals: readonly number[],
): string {
  const bareMs = median(times[0]?.[1] ?? []);
  const rows = times.map(([title, values], index) => {
    const middleMs = median(values);
    return [title, `${middleMs.toFixed(0)} ms`, ...verdictOf(middleMs / bareMs, goals[index] ?? 1)];
  });
  return formatTable(
    ["container", `median of ${times[0]?.[1].length ?? 0}`, "bare node", "goal"],
    rows,
    [1, 2],
  );
}

async function timeContainer(engine: ContainerEngine, kind: TimedContainer): Promise<number> {
  const args = ["run", "--rm", "--network", "host", ...kind.args];
  const startedMs = performance.now();
  const { exitCode, stderr, shortMessage } = await execa(engine.program, args, {
    stdin: "ignore",
    reject: false,
    timeout: GIVE_UP_MS,
  });
  const tookMs = performance.now() - startedMs;
  if (exitCode === kind.exitCode) return tookMs;
  throw new Error(`${kind.title}: exit code ${exitCode}: ${stderr || shortMessage}`);
}

/** The action's image from `npm run images`, and its base. */
export async function buildSubjects(
  engine: ContainerEngine,
): Promise<{ readonly base: string; readonly image: string }> {
  const wanted = { nodeImage: process.env["NODE_IMAGE"], baseImage: process.env["BASE_IMAGE"] };
  const bases = await provideBase(engine, wanted, `${REGISTRY}/base:local`, () => undefined);
  const image = `${REGISTRY}/${ACTION}:bench`;
  await buildImage(engine, {
    tag: image,
    dockerfile: "Dockerfile.action",
    action: ACTION,
    bases,
    version: "0.0.0",
  });
  return { base: bases.baseImage, image };
}

function given(environment: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(environment).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
}

function oneLine(thrown: unknown): string {
  return textOf(thrown).replace(/\s+/g, " ").trim();
}
