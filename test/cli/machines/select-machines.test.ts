import { expect, it } from "vitest";
import { countedPauses, selectionIn } from "../../../cli/machines/select-machines.ts";

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

it("a misspelt flag counts for the selection, and is left among the action's arguments", () => {
  const { selection, rest } = selectionIn(
    ["--inventory", "i.yaml", "--machnie", "n1,n2", "--concurency=3", "--mode", "soft", "--mod=soft"],
    ["--mode"],
  );

  expect(selection).toEqual({ inventory: "i.yaml", machine: ["n1", "n2"], all: false, concurrency: "3" });
  expect(rest).toEqual(["--machnie=n1,n2", "--concurency=3", "--mode=soft", "--mod=soft"]);
});
