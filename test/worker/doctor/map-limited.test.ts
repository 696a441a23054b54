import { expect, test } from "vitest";
import { textOf } from "../../../shared/text-of.ts";
import { mapLimited } from "../../../worker/doctor/map-limited.ts";

test("one item's failure is its result, and the others have theirs", async () => {
  const work = async (item: string) => {
    if (item === "b") throw new Error("no route");
    return item.toUpperCase();
  };
  const failed = (item: string, thrown: unknown) => `${item}: ${textOf(thrown)}`;

  const made = await mapLimited(
    ["a", "b", "c"],
    { mostAtATime: 2, work, failed },
    new AbortController().signal,
  );

  expect(made).toEqual(["A", "b: no route", "C"]);
});

test("an abort rejects all", async () => {
  const stop = new AbortController();
  const work = async () => {
    stop.abort(new Error("cancelled"));
    throw new Error("because of that");
  };

  const all = mapLimited(["a"], { mostAtATime: 1, work, failed: () => "failed" }, stop.signal);

  await expect(all).rejects.toThrow("cancelled");
});
