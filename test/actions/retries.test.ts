import { describe, expect, it } from "vitest";
import { catalogue, loadAction } from "../../actions/catalogue.ts";
import { type ActionReport, defineAction } from "../../actions/harness/action.ts";
import { runWithin } from "../../actions/harness/run/run-within.ts";
import type { Clock } from "../../shared/clock.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { ErrorClass } from "../../shared/contract/error-class.ts";
import { quickClock } from "../support/quick-actions.ts";
import { ActionRun, type EndedAction, resultOf, runAction } from "./action-run.ts";
import { actionLab, REFUSING_PORT } from "./lab.ts";

/** Ranges of the waits between attempts; no other wait in these tests has such a length. */
const WAITS_MS = [
  [8_000, 10_000],
  [16_000, 20_000],
  [32_000, 40_000],
] as const;

/** A quick clock on which a wait between two attempts passes at once, after `onWait`. */
function skippingClock(onWait: (signal?: AbortSignal) => unknown = () => undefined): Clock {
  let skippedMs = 0;
  return {
    now: () => quickClock.now() + skippedMs,
    monotonicMs: () => quickClock.monotonicMs() + skippedMs,
    async sleep(ms, signal) {
      if (!WAITS_MS.some(([least, most]) => ms >= least && ms <= most)) return quickClock.sleep(ms, signal);
      skippedMs += ms;
      await onWait(signal);
      signal?.throwIfAborted();
    },
  };
}

/** The log lines about attempts. */
function attemptLines({ stderr }: Pick<EndedAction, "stderr">) {
  const lines = stderr.split("\n").filter((line) => line.includes("attempt"));
  return lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.startsWith("attempt "));
}

describe.concurrent("an action with RETRIES", () => {
  it("succeeds once its BMC answers, and says what the attempts before met", async () => {
    await using lab = await actionLab({ machine: { power: "off" } });
    const { port } = lab.redfish;
    await lab.redfish.stop();
    let waits = 0;
    const clock = skippingClock(async () => {
      waits += 1;
      if (waits === 2) await lab.redfish.listen(port, "127.0.0.1");
    });

    const ended = await runAction("power-on", { env: { ...lab.env("redfish"), RETRIES: "3" }, clock });

    const refused = `redfish: cannot connect to 127.0.0.1:${port}: connection refused`;
    expect(resultOf(ended)).toMatchObject({ ok: true, before: "off", after: "on", changed: true });
    expect(resultOf(ended).message).toMatch(/^on after .* via redfish; succeeded at attempt 3 of 4 /);
    expect(resultOf(ended).message).toContain(` (1, 2: ${refused})`);
    expect(attemptLines(ended)).toMatchObject([
      { msg: "attempt failed, retrying", attempt: 1, attempts: 4, class: "unreachable", reason: refused },
      { msg: "attempt failed, retrying", attempt: 2, attempts: 4, class: "unreachable", reason: refused },
      { msg: "attempt succeeded", lastAttempt: 3, attempts: 4 },
    ]);
    expect(ended.code).toBe(0);
    expect(lab.done()).toEqual(["on"]);
  });

  it("sends a command again only after it has read the state", async () => {
    await using lab = await actionLab({ machine: { power: "off", powerOnMs: 60_000 } });
    const clock = skippingClock(() => lab.machine.finishPowerOn());

    const ended = await runAction("power-on", {
      env: { ...lab.env("redfish"), STATE_TIMEOUT: "1s", RETRIES: "1" },
      clock,
    });

    expect(resultOf(ended)).toMatchObject({ ok: true, after: "on", changed: true });
    // It was read after the first command.
    expect(resultOf(ended)).not.toHaveProperty("before");
    expect(resultOf(ended).message).toMatch(
      /^already on via redfish; succeeded at attempt 2 of 2 \(1: redfish: not on after 1.0 s/,
    );
    expect(lab.done()).toEqual(["on"]);
  });

  it("fails with the last reason first when all attempts have failed", async () => {
    await using lab = await actionLab();
    const env = { ...lab.env("redfish"), REDFISH_PORT: String(REFUSING_PORT), RETRIES: "2" };

    const ended = await runAction("power-status", { env, clock: skippingClock() });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "unreachable" });
    expect(resultOf(ended).message).toMatch(
      /^attempt 3 of 3: redfish: .*connection refused \(1, 2: the same\)$/,
    );
    expect(attemptLines(ended).map(({ msg }) => msg)).toEqual([
      "attempt failed, retrying",
      "attempt failed, retrying",
      "attempt failed",
    ]);
    expect(ended.code).toBe(11);
  });

  it("tries a refused password once", async () => {
    await using lab = await actionLab();
    const env = { ...lab.env("redfish"), BMC_PASSWORD: "wrong", RETRIES: "3" };

    const ended = await runAction("power-status", { env, clock: skippingClock() });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "auth" });
    expect(resultOf(ended).message).toMatch(
      /^attempt 1 of 4: redfish: .*; not repeated, because a failure of class auth does not pass$/,
    );
    expect(lab.refusals()).toBe(1);
  });

  it("has one timeout for all attempts", async () => {
    const env = { ...CONNECTION, REDFISH_PORT: String(REFUSING_PORT), RETRIES: "9", TIMEOUT: "55s" };

    const ended = await runAction("power-status", { env, clock: skippingClock() });

    // After 10 s and 20 s there is no time for 40 s.
    expect(resultOf(ended)).toMatchObject({ ok: false, class: "unreachable" });
    expect(resultOf(ended).message).toMatch(
      /^attempt 3 of 10: .*; not repeated, because the time is over \(1, 2: /,
    );
  });

  it("ends at once when it is cancelled between two attempts", async () => {
    const env = { ...CONNECTION, REDFISH_PORT: String(REFUSING_PORT), RETRIES: "2" };
    const action: ActionRun = new ActionRun("power-status", {
      env,
      clock: skippingClock(() => action.kill("SIGTERM")),
    });

    const ended = await action.ended;

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "cancelled" });
    expect(resultOf(ended).message).toMatch(
      /^cancelled by SIGTERM, before attempt 2 of 3 \(1: redfish: .*connection refused/,
    );
    expect(ended.code).toBe(143);
  });
});

const CONNECTION = {
  BMC_HOST: "127.0.0.1",
  BMC_USERNAME: "admin",
  BMC_PASSWORD: "calvin",
  BMC_PROVIDERS: "redfish",
  REDFISH_SCHEME: "http",
};

describe("every action", () => {
  it.each(catalogue)("%s takes RETRIES only if it is idempotent", async (name) => {
    const action = await loadAction(name);

    const { stderr } = await runAction(name, { env: { RETRIES: "1" } });
    const zero = await runAction(name, { env: { RETRIES: "0" } });

    const refusal = `RETRIES: ${name} is not idempotent, so it is never repeated`;
    expect(stderr.includes(refusal)).toBe(action?.idempotent === false);
    expect(zero.stderr).not.toContain("RETRIES");
  });

  it.each(["-1", "11", "two", "1.5"])("refuses RETRIES=%s", async (RETRIES) => {
    const { stderr, code } = await runAction("power-status", { env: { ...CONNECTION, RETRIES } });

    expect(stderr).toContain(`RETRIES "${RETRIES}" is not a whole number from 0 to 10`);
    expect(code).toBe(2);
  });
});

/** Runs an action whose attempts end as given, the last one for all further ones. */
async function attemptsOf(...ends: readonly [ActionReport | BmcError, ...(ActionReport | BmcError)[]]) {
  let made = 0;
  const lines: string[] = [];
  const action = defineAction({
    name: "power-status",
    summary: "Ends as it is told",
    idempotent: true,
    input: {},
    async run() {
      const end = ends[Math.min(made, ends.length - 1)] ?? ends[0];
      made += 1;
      if (end instanceof BmcError) throw end;
      return end;
    },
  });
  const { result } = await runWithin(action, {
    env: { ...CONNECTION, RETRIES: "2" },
    argv: [],
    stdin: "",
    onLine: (line) => lines.push(line),
    clock: skippingClock(),
    signal: new AbortController().signal,
    stoppedBy: () => "SIGTERM",
  });
  return { result, made, lines };
}

describe("a failure", () => {
  const passes = ["unreachable", "busy", "timeout", "verify", "protocol", "bmc"];

  it.each(ErrorClass.options)("of class %s is met by another attempt only if it may pass", async (name) => {
    const { made, result } = await attemptsOf(new BmcError(name, "no"));

    expect(made).toBe(passes.includes(name) ? 3 : 1);
    expect(result).toMatchObject({ ok: false, class: name });
  });

  it("whose effect on the BMC is unknown is the last one", async () => {
    const { made, result } = await attemptsOf(new BmcError("timeout", "answer lost", { uncertain: true }));

    expect(made).toBe(1);
    expect(result.message).toBe(
      "attempt 1 of 3: answer lost; not repeated, because the BMC may have carried it out",
    );
  });

  it("is in the message with its own number, each reason once, without secrets", async () => {
    const long = `${"x".repeat(195)} calvin`;
    const { result, lines } = await attemptsOf(
      new BmcError("busy", long),
      new BmcError("bmc", "no\nnot now"),
      { summary: "fine", changed: false },
    );

    expect(result.message).toMatch(/^fine; succeeded at attempt 3 of 3 \(1: x{195} .*; 2: no not now\)$/);
    expect(`${result.message}${lines.join("")}`).not.toMatch(/calv/);
  });
});
