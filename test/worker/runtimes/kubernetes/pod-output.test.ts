import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ActionResult } from "../../../../shared/contract/result.ts";
import type { LogLine } from "../../../../worker/core/action/action.ts";
import { PodOutput } from "../../../../worker/runtimes/kubernetes/pod-output.ts";
import { resultLine } from "./kubernetes-cases.ts";

/** A line of a container's log and its time. */
type Entry = readonly [timeMs: number, line: string];

function served(entries: readonly Entry[], since: string | undefined): string {
  return entries
    .filter(([timeMs]) => since === undefined || timeMs >= Date.parse(since))
    .map(([timeMs, line]) => `${new Date(timeMs).toISOString().slice(0, -1)}000000Z ${line}\n`)
    .join("");
}

function newOutput() {
  const lines: LogLine[] = [];
  return { lines, output: new PodOutput({ onLog: (line) => lines.push(line) }) };
}

function readAll(output: PodOutput, text: string): void {
  const reading = output.read();
  reading.push(Buffer.from(text));
  reading.end();
}

const result = ActionResult.parse(JSON.parse(resultLine()));

describe("the output of a pod", () => {
  it("is complete and without repetition, wherever a reading is interrupted", () => {
    const entries = fc.array(
      fc.tuple(fc.integer({ min: 0, max: 400 }), fc.string({ unit: "grapheme-ascii" })),
      {
        minLength: 1,
        maxLength: 30,
      },
    );
    fc.assert(
      fc.property(entries, fc.array(fc.nat(400), { maxLength: 6 }), (steps, breaks) => {
        let now = Date.UTC(2026, 0, 1);
        const log = steps.map(([waitMs, text]): Entry => {
          now += waitMs;
          return [now, `${text.replaceAll(/[\n\r]/g, " ")}.`];
        });
        const { lines, output } = newOutput();

        for (const at of breaks) readAll(output, served(log, output.since).slice(0, at));
        readAll(output, served(log, output.since));
        output.end(undefined);

        expect(lines.map(({ line }) => line)).toEqual(log.map(([, line]) => line));
      }),
    );
  });

  it("has the result although lines of stderr follow it, if the termination message confirms it", () => {
    const { lines, output } = newOutput();
    const long = resultLine({ data: { read: "much" } });
    readAll(
      output,
      served(
        [
          [1e12, "one"],
          [1e12, long],
          [1e12, "late"],
        ],
        undefined,
      ),
    );

    const written = output.end(result);

    expect(written.result).toMatchObject({ message: "done", data: { read: "much" } });
    expect(lines.map(({ line }) => line)).toEqual(["one", "late"]);
  });

  it("counts an unconfirmed result that other lines follow as a log line", () => {
    const { lines, output } = newOutput();
    readAll(
      output,
      served(
        [
          [1e12, resultLine()],
          [1e12, "more"],
        ],
        undefined,
      ),
    );

    expect(output.end(undefined).result).toBeUndefined();
    expect(lines.map(({ line }) => line)).toEqual(["more", resultLine()]);
  });

  it("is a flood while a single line does not end", async () => {
    const { output } = newOutput();
    const reading = output.read();
    await reading.push(Buffer.from(`2026-01-01T00:00:00.000000000Z ${"x".repeat(3_000_000)}`));
    const isFlooding = [output.isFlooding];
    await reading.push(Buffer.from("x".repeat(3_000_000)));

    expect([...isFlooding, output.isFlooding]).toEqual([false, true]);
  });

  it("includes a last line without a line end", () => {
    const { lines, output } = newOutput();
    readAll(
      output,
      served(
        [
          [1e12, "one"],
          [1e12, "two"],
        ],
        undefined,
      ).slice(0, -1),
    );

    expect(output.end(undefined).lastLines).toEqual(["one", "two"]);
    expect(lines).toHaveLength(2);
  });

  it("includes lines without a time unchanged", () => {
    const { lines, output } = newOutput();
    readAll(output, "unable to retrieve container logs\n");

    output.end(undefined);
    expect(lines).toEqual([{ stream: "stdout", line: "unable to retrieve container logs" }]);
  });
});
