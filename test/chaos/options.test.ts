import { expect, test } from "vitest";
import { readOptions } from "./options.ts";

const anySeed = () => 42;

test("has defaults for everything, and any seed", () => {
  expect(readOptions([], anySeed)).toEqual({
    durationMs: 300_000,
    machines: 40,
    seed: 42,
    runtimes: ["process"],
    load: 4,
  });
});

test("takes what it is given", () => {
  const argv = "--minutes 0.5 --machines 6 --seed 7 --runtime process,docker,process --load 2 --logs /tmp/x";

  expect(readOptions(argv.split(" "), anySeed)).toEqual({
    durationMs: 30_000,
    machines: 6,
    seed: 7,
    runtimes: ["process", "docker"],
    load: 2,
    logs: "/tmp/x",
  });
});

test.each([
  [["--minutes", "x"], "--minutes is not a number"],
  [["--minutes", "0"], "--minutes must be above 0"],
  [["--machines", "1.5"], "--machines is not a whole number"],
  [["--machines", "3", "--runtime", "process,docker"], "--machines must be at least two for each runtime"],
  [["--runtime", "podman"], "--runtime podman"],
  [["--nonsense"], "--nonsense"],
])("refuses %j", (argv, message) => {
  expect(() => readOptions(argv, anySeed)).toThrow(message);
});
