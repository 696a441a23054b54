import fc from "fast-check";
import { expect, it } from "vitest";
import { DueTimes } from "../../../../worker/source/rufio/due-times.ts";

const step = fc.oneof(
  fc.record({
    do: fc.constant("set" as const),
    key: fc.integer({ min: 0, max: 9 }),
    atMs: fc.integer({ min: 0, max: 50 }),
  }),
  fc.record({ do: fc.constant("delete" as const), key: fc.integer({ min: 0, max: 9 }) }),
  fc.record({ do: fc.constant("take" as const), nowMs: fc.integer({ min: 0, max: 60 }) }),
);

it("gives the keys that are due, the earliest first, each once, at the time that was set last", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const due = new DueTimes();
      const model = new Map<string, number>();
      for (const one of steps) {
        if (one.do === "set") {
          due.set(String(one.key), one.atMs);
          model.set(String(one.key), one.atMs);
        } else if (one.do === "delete") {
          due.delete(String(one.key));
          model.delete(String(one.key));
        } else {
          const firstMs = model.size === 0 ? undefined : Math.min(...model.values());
          const taken = due.take(one.nowMs);
          if (firstMs === undefined || firstMs > one.nowMs) expect(taken).toBeUndefined();
          else expect(model.get(taken ?? "")).toBe(firstMs);
          model.delete(taken ?? "");
        }
        expect(due.firstMs).toBe(model.size === 0 ? undefined : Math.min(...model.values()));
        for (let key = 0; key <= 9; key++) expect(due.has(String(key))).toBe(model.has(String(key)));
      }
    }),
  );
});
