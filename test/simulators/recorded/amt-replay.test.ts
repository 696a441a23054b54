import { describe, expect, it } from "vitest";
import { systemClock } from "../../../shared/clock.ts";
import type { Recording } from "../../../shared/recording/recording.ts";
import { type Answer, fault, output } from "../../../simulators/amt/answers.ts";
import { type AmtDevice, type AmtDeviceOptions, startAmtDevice } from "../../../simulators/amt/device.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { startRecording } from "../../../simulators/recorded/start-recording.ts";
import { resultOf, runAction } from "../../actions/action-run.ts";
import { findSubjects } from "../../actions/subject.ts";
import { recordAction } from "../../support/recorded-action.ts";
import { withoutTimes } from "./comparable.ts";

const PASSWORD = "amt-canary-51c7";
const QUICK = { powerOnMs: 0, powerOffMs: 0, softOffMs: 0, cycleOffMs: 0 };
const REQUEST = "RequestPowerStateChange";
const POWER = "CIM_AssociatedPowerManagementService";

const envOf = ({ username, http }: AmtDevice) => ({
  ...{ BMC_HOST: "127.0.0.1", BMC_USERNAME: username, BMC_PASSWORD: PASSWORD },
  ...{ BMC_PROVIDERS: "amt", AMT_SCHEME: "http", AMT_PORT: String(http.port) },
});

interface Options {
  readonly power?: "on" | "off";
  readonly device?: AmtDeviceOptions;
  readonly env?: Readonly<Record<string, string>>;
  readonly beforeAction?: (device: AmtDevice) => void;
}

/** Records an action, and runs it again on its recording: how each ended, as its recording says. */
async function recordAndReplay(action: string, options: Options = {}) {
  const { power = "on", device: own, env = {}, beforeAction } = options;
  await using started = new AsyncDisposableStack();
  const machine = new SimulatedMachine({ ...QUICK, power });
  const device = await startAmtDevice({ password: PASSWORD, tls: "http", machine, ...own });
  started.defer(() => device.close());
  const given = { ...env, ...envOf(device) };
  const { recording, text } = await recordAction(action, given, {
    beforeAction: () => {
      device.operations.splice(0);
      beforeAction?.(device);
    },
  });
  const running = await startRecording(recording, { tls: "http", password: PASSWORD, machine: QUICK });
  started.use(running);
  const { amt } = running;
  if (!amt) throw new Error("the recording has no Intel AMT");
  const again = resultOf(await runAction(action, { env: { ...given, ...envOf(amt) }, clock: systemClock }));
  const { operations } = amt;
  return {
    ...{
      recording,
      text,
      operations: withoutRepeats(operations),
      original: withoutRepeats(device.operations),
    },
    allOperations: operations,
    result: ending(recording.action),
    again: ending(again),
    commands: running.machine.commands.map((command) => command.action),
    originalCommands: machine.commands.map((command) => command.action),
  };
}

/** A machine that is polled is asked so often as there is time. */
const withoutRepeats = (operations: readonly string[]) =>
  operations.filter((operation, index) => operation !== operations[index - 1]);

const ending = (
  ended: { ok: boolean; class?: string | undefined; message?: string | undefined } | undefined,
) => ({
  ok: ended?.ok,
  class: ended?.class,
  message: withoutTimes(ended?.message ?? ""),
});

const bodiesIn = ({ exchanges = [] }: Recording) =>
  exchanges.filter(({ status }) => status !== 401).map(({ sent, body }) => [sent?.body, body]);

describe.concurrent("an exchange with Intel AMT gives the same result again", async () => {
  const able = (await findSubjects()).filter(({ unable }) => !unable.includes("amt"));

  it.each(able)("$name", { timeout: 120_000 }, async ({ name, power, reference }) => {
    const env = { ...reference.environment, SOFT_TIMEOUT: "3s" };

    const { result, again, recording, operations, original, commands, originalCommands } =
      await recordAndReplay(name, { power, env });

    expect(again).toEqual(result);
    // Nothing but the exchange was needed.
    expect(operations).toEqual(original);
    expect(commands).toEqual(originalCommands);
    expect(recording.exchanges?.map(({ request }) => request)).toContain("POST /wsman");
  });
});

describe.concurrent("Intel AMT answers as it did", () => {
  const refusals: readonly (readonly [string, string, Answer])[] = [
    ["with a value that refuses", REQUEST, output(REQUEST, 5)],
    ["with a fault", REQUEST, fault("AccessDenied", "The user may not do that.")],
    ["with a fault of a reading", `Get ${POWER}`, fault("InternalError", "The service failed.")],
    ["with a page of a web server", REQUEST, () => ({ status: 500, body: "<html>hunter2</html>" })],
    ["with nothing in a message", REQUEST, () => ({ status: 200, body: "" })],
  ];

  it.each(refusals)("%s", { timeout: 120_000 }, async (_, operation, answer) => {
    const { result, again, commands, text } = await recordAndReplay("power-off", {
      env: { MODE: "hard", TIMEOUT: "4s" },
      beforeAction: (device) => {
        for (let time = 0; time < 10; time++) device.script(operation, answer);
      },
    });

    expect(result.ok).toBe(false);
    expect(again).toEqual(result);
    expect(commands).toEqual([]);
    expect(text).not.toContain("hunter2");
  });

  it("with a connection that closes", { timeout: 120_000 }, async () => {
    const { result, again, recording } = await recordAndReplay("power-off", {
      env: { MODE: "hard" },
      beforeAction: ({ http }) => {
        for (let time = 0; time < 10; time++) http.fail("close-before");
      },
    });

    expect(recording.exchanges?.every(({ status }) => status === undefined)).toBe(true);
    expect(result.class).toBe("unreachable");
    expect(again).toEqual(result);
  });

  it("in order and time, out of a recording that is written by hand", { timeout: 120_000 }, async () => {
    const reading = (atMs: number, PowerState: string) => ({
      ...{ request: "POST /wsman", sent: { body: { action: "Get", class: POWER } } },
      ...{ atMs, ms: 200, status: 200, body: { output: { PowerState } } },
    });
    const exchanges = [reading(0, "8"), reading(1_500, "2")];
    await using running = await startRecording(
      { resources: {}, amt: { classes: {} }, exchanges },
      { tls: "http", password: PASSWORD },
    );
    const { amt } = running;
    if (!amt) throw new Error("the recording has no Intel AMT");
    const run = async (action: string, env = {}) =>
      resultOf(await runAction(action, { env: { ...envOf(amt), ...env }, clock: systemClock }));

    const first = await run("power-status");
    const later = await run("wait-for-power-state", { STATE: "on" });

    expect(first.message).toMatch(/^off/);
    expect(first.durationMs).toBeGreaterThanOrEqual(200);
    expect(later).toMatchObject({ ok: true, after: "on" });
  });

  it("with the parts of an enumeration, one after the other", { timeout: 120_000 }, async () => {
    const { recording, again, result, allOperations } = await recordAndReplay("get-boot-device", {
      device: { consent: "given" },
    });

    const pulls = bodiesIn(recording).filter(([asked]) => Object(asked).action === "Pull");
    expect(pulls.at(-1)?.[1]).not.toHaveProperty("more");
    expect(allOperations.filter((operation) => operation.startsWith("Pull"))).toHaveLength(pulls.length);
    expect(again).toEqual(result);
  });
});
