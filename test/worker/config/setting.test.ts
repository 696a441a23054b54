import { expect, it } from "vitest";
import { z } from "zod";
import { setting } from "../../../worker/config/setting.ts";
import { Count, Duration, List, Text, Toggle } from "../../../worker/document/value-types.ts";

const description = "Something";

it("a setting needs its form for people, except where the schema has it", () => {
  const complete = [
    setting(Toggle.prefault(false), { description }),
    setting(z.enum(["on", "off"]).prefault("on"), { description }),
    setting(Text.optional(), { description, type: "file" }),
  ];
  const incomplete = [
    // @ts-expect-error: no type
    setting(Text.optional(), { description }),
    // @ts-expect-error: no type
    setting(Count(1, 9).prefault("1"), { description }),
    // @ts-expect-error: no type
    setting(Duration(0, 9).prefault("0s"), { description }),
    // @ts-expect-error: no type
    setting(List(Text).prefault([]), { description }),
    // @ts-expect-error: no description
    setting(Text.optional(), { type: "file" }),
    // @ts-expect-error: no schema
    setting({ description, type: "file" }),
  ];

  expect(complete).toHaveLength(3);
  expect(incomplete).toHaveLength(6);
});
