import { describe, expect, it } from "vitest";
import { z } from "zod";
import { catalogue, loadAction } from "../../../actions/catalogue.ts";
import { runProgram } from "../../cli/program.ts";

const Field = z.strictObject({
  env: z.string().regex(/^[A-Z][A-Z0-9_]*$/),
  flag: z.string().startsWith("--").optional(),
  type: z.enum(["text", "integer", "boolean", "duration", "choice", "list", "file"]),
  description: z.string().min(1),
  required: z.boolean(),
  secret: z.boolean(),
  default: z.string().optional(),
  choices: z.array(z.string()).optional(),
});
const Listing = z.strictObject({
  version: z.string(),
  actions: z.array(
    z.strictObject({
      name: z.string(),
      summary: z.string(),
      idempotent: z.boolean(),
      input: z.array(Field),
    }),
  ),
  connection: z.array(Field),
});

describe("pbnj-worker actions", () => {
  it("lists every action on a line of its own, in the catalogue's order", async () => {
    const { exitCode, stdout } = await runProgram(["actions"]);

    const lines = stdout.split("\n");
    const summaries = await Promise.all(catalogue.map(async (name) => (await loadAction(name))?.summary));
    expect(lines.map((line) => line.split(/ {2,}/))).toEqual(
      catalogue.map((name, index) => [name, summaries[index]]),
    );
    const starts = lines.map((line) => line.indexOf("  ") + (/ {2,}/.exec(line)?.[0].length ?? 0));
    expect(new Set(starts).size).toBe(1);
    expect(exitCode).toBe(0);
  });

  it("gives programs JSON with what each takes, and no flag for a secret", async () => {
    const { exitCode, stdout } = await runProgram(["actions", "--output=json"]);

    const listing = Listing.parse(JSON.parse(stdout));
    expect(listing.actions.map(({ name }) => name)).toEqual(catalogue);
    const powerOff = listing.actions.find(({ name }) => name === "power-off");
    expect(powerOff).toMatchObject({ idempotent: true });
    expect(powerOff?.input).toContainEqual({
      env: "MODE",
      flag: "--mode",
      type: "choice",
      description:
        "Force the machine off, shut it down gracefully, or force it off if the graceful shutdown fails",
      required: false,
      secret: false,
      default: "soft-then-hard",
      choices: ["hard", "soft", "soft-then-hard"],
    });
    const { actions, connection } = listing;
    const secrets = [...actions.flatMap(({ input }) => input), ...connection].filter(({ secret }) => secret);
    expect(secrets.map(({ env }) => env)).toContain("BMC_PASSWORD");
    expect(secrets.filter(({ flag }) => flag !== undefined)).toEqual([]);
    expect(exitCode).toBe(0);
  });
});
