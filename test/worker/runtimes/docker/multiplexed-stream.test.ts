import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MultiplexedStreamReader } from "../../../../worker/runtimes/docker/multiplexed-stream.ts";
import { frame } from "./fake-engine.ts";

function read(chunks: readonly Uint8Array[]): { stdout: string; stderr: string } {
  const taken = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
  const reader = new MultiplexedStreamReader((stream, payload) => taken[stream].push(payload));
  for (const chunk of chunks) reader.push(chunk);
  return { stdout: Buffer.concat(taken.stdout).toString(), stderr: Buffer.concat(taken.stderr).toString() };
}

describe("the engine's multiplexed stream", () => {
  it("is split into stdout and stderr, with any chunk boundaries", () => {
    const frames = fc.array(fc.tuple(fc.constantFrom("stdout", "stderr"), fc.string()));

    fc.assert(
      fc.property(frames, fc.array(fc.nat(300)), (written, at) => {
        const bytes = Buffer.concat(written.map(([stream, text]) => frame(stream, text)));
        const borders = [0, ...at.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        const textOf = (name: string) =>
          written
            .filter(([stream]) => stream === name)
            .map(([, text]) => text)
            .join("");

        const taken = read(borders.slice(1).map((end, index) => bytes.subarray(borders[index], end)));

        expect(taken).toEqual({ stdout: textOf("stdout"), stderr: textOf("stderr") });
      }),
    );
  });

  it("is rejected if a frame is malformed", () => {
    expect(() => read([Buffer.from("plain text output")])).toThrow(/malformed frame header/);
  });
});
