import { afterAll, beforeAll, expect, it } from "vitest";
import type { Runtime } from "../../../worker/core/ports/runtime.ts";
import { canary, resultStep, scriptedRequest } from "./launch-request.ts";

/** A busy machine needs seconds to start a container, and the action to handle SIGTERM. */
const TIMEOUT_MS = 10_000;

/** What every runtime must do, whatever it runs actions in. Called inside a `describe`. */
export function itKeepsTheRuntimeContract(create: () => Promise<Runtime>): void {
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await create();
  });
  afterAll(async () => {
    await runtime.close();
  });

  async function run(...[steps, options, signal]: [...Parameters<typeof scriptedRequest>, AbortSignal?]) {
    const { request, lines } = scriptedRequest(steps, options);
    const ended = await runtime.run(request, signal ?? new AbortController().signal);
    await ended.remove(AbortSignal.timeout(20_000));
    return { outcome: ended.outcome, lines, text: lines.map(({ line }) => line) };
  }

  it("passes the connection on stdin and reads the result from the last line", async () => {
    const { outcome, lines } = await run(["out:hello\\n", "host"], { connected: true });

    expect(outcome).toMatchObject({ ok: true, exitCode: 0, message: "reached bmc.example", killed: false });
    expect(outcome.stoppedAt.getTime()).toBeGreaterThanOrEqual(outcome.startedAt.getTime());
    expect(lines).toEqual([{ stream: "stdout", line: "hello" }]);
  });

  it("distinguishes stdout and stderr and keeps their order", async () => {
    const { lines } = await run(["err:one\\n", "err:two\\n", "out:three\\n", "out:four"]);

    expect(lines.filter(({ stream }) => stream === "stderr").map(({ line }) => line)).toEqual(["one", "two"]);
    expect(lines.filter(({ stream }) => stream === "stdout").map(({ line }) => line)).toEqual([
      "three",
      "four",
    ]);
  });

  it("returns the action's own reason and class when it reports a failure", async () => {
    const failure = { ok: false, class: "auth", message: "the BMC refused the password" };

    const { outcome } = await run([resultStep(failure), "exit:10"]);

    expect(outcome).toMatchObject({ ok: false, class: "auth", message: failure.message, exitCode: 10 });
  });

  it("is a failure if the result reports one and the exit code does not", async () => {
    const { outcome } = await run([resultStep({ ok: false, class: "verify", message: "it reverted" })]);

    expect(outcome).toMatchObject({ ok: false, class: "verify", message: "it reverted", exitCode: 0 });
  });

  it("is a failure if the exit code reports one and the result does not", async () => {
    const { outcome } = await run([resultStep({}), "exit:3"]);

    expect(outcome).toMatchObject({ ok: false, class: "internal", exitCode: 3 });
    expect(outcome.message).toBe("exited 3 although it said: done");
  });

  it("uses the last lines of stderr as the reason if there is no result", async () => {
    const { outcome } = await run(["err:connecting\\n", 'err:{"level":50,"msg":"no route"}\\n', "exit:11"]);

    expect(outcome).toMatchObject({ ok: false, class: "unreachable", exitCode: 11 });
    expect(outcome.message).toBe("exited 11: connecting | no route");
  });

  it("counts exit 0 without a result as success, because other projects' images have none", async () => {
    const { outcome } = await run(["out:done\\n"]);

    expect(outcome).toMatchObject({ ok: true, message: "exited 0", exitCode: 0 });
    expect(outcome.result).toBeUndefined();
  });

  it("drops output beyond the budget, and still finds the result and the last line", async () => {
    const result = resultStep({ message: "after the flood" }).slice("result:".length);

    const { outcome, lines } = await run(["flood:3000000", `out:${result}`]);

    expect(outcome).toMatchObject({ ok: true, message: "after the flood" });
    expect(lines.length).toBeLessThan(10_000);
    expect(lines.map(({ line }) => line)).toContainEqual(expect.stringMatching(/^\[\d+ lines dropped: /));
    expect(lines.at(-1)?.line).not.toMatch(/dropped/);
  });

  it("accepts an action that ends without reading its connection", async () => {
    const { outcome } = await run(["exit:2"], { connected: true });

    expect(outcome).toMatchObject({ ok: false, class: "usage", exitCode: 2 });
  });

  it.concurrent("stops an action at its timeout, and lets it clean up", async () => {
    const { outcome } = await run(["on-sigterm:143", "err:waiting for off\\n", "sleep:60000"], {
      timeoutMs: TIMEOUT_MS,
    });

    expect(outcome).toMatchObject({
      ok: false,
      class: "timeout",
      timedOut: true,
      killed: true,
      exitCode: 143,
    });
    expect(outcome.message).toBe("timed out after 10.0 s: waiting for off");
  });

  it.concurrent("kills an action that does not stop when asked", async () => {
    const { outcome } = await run(["ignore-sigterm", "sleep:60000"], { timeoutMs: TIMEOUT_MS });

    expect(outcome).toMatchObject({ ok: false, class: "timeout", timedOut: true, killed: true });
  });

  it("stops an action when the worker cancels it", async () => {
    const controller = new AbortController();
    const { request, lines } = scriptedRequest(["on-sigterm:143", "out:up\\n", "sleep:60000"]);
    const running = runtime.run(
      {
        ...request,
        onLog: (line) => {
          lines.push(line);
          controller.abort();
        },
      },
      controller.signal,
    );

    const ended = await running;
    await ended.remove(AbortSignal.timeout(20_000));

    expect(lines).toEqual([{ stream: "stdout", line: "up" }]);
    expect(ended.outcome).toMatchObject({ ok: false, class: "cancelled", timedOut: false, killed: true });
  });

  it("starts nothing once it is cancelled", async () => {
    const { outcome, lines } = await run(["out:up\\n"], {}, AbortSignal.abort());

    expect(outcome).toMatchObject({ ok: false, class: "cancelled" });
    expect(outcome.exitCode).toBeUndefined();
    expect(lines).toEqual([]);
  });

  it("keeps the worker's environment and the password from the action's environment", async () => {
    process.env["WORKER_TOKEN_FOR_TEST"] = canary;
    try {
      const { text } = await run(["env"], { connected: true, action: { environment: { COLOUR: "blue" } } });

      const environment = JSON.parse(text[0] ?? "");
      expect(environment).toMatchObject({ COLOUR: "blue", BMC_CONNECTION_FILE: "-" });
      expect(JSON.stringify(environment)).not.toContain(canary);
    } finally {
      delete process.env["WORKER_TOKEN_FOR_TEST"];
    }
  });
}
