import { expect, it } from "vitest";
import { countedPauses } from "../../../cli/machines/select-machines.ts";

const machine = (name: string, isPaused = false) => ({ name, ...(isPaused && { paused: true }) });

it.each([
  ["not if others were chosen as well", [machine("r1", true), machine("r2")], [], []],
  ["not if a wildcard matched it", [machine("r1", true), machine("r2")], ["r*"], []],
  ["if it was named", [machine("r1", true), machine("r2")], ["r1", "r*"], ["r1"]],
  ["if no other machine was chosen", [machine("r1", true), machine("r2", true)], [], ["r1", "r2"]],
  ["never if it is in service", [machine("r1")], ["r1"], []],
])("a paused machine counts as a failure: %s", (_, chosen, named, counted) => {
  expect([...countedPauses(chosen, named)]).toEqual(counted);
});
