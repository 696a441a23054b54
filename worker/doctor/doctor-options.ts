import { DATA_FORMATS, type DataFormat } from "../../shared/data-format.ts";
import type { Problem } from "../../shared/document/problem.ts";
import { parseDurationMs } from "../../shared/duration.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import { SELECTOR_SYNTAX, Selector } from "../document/labels.ts";

/** The options of `doctor`, in addition to the settings of `start`. */
export interface DoctorOptions {
  /** Names of machines, or all; if it is undefined, no BMC is checked. */
  readonly bmc: "all" | readonly string[] | Selector | undefined;
  /** The action image to run. */
  readonly image: string | undefined;
  readonly output: "text" | DataFormat;
  /** The timeout of each check, and of each machine. */
  readonly timeoutMs: number;
}

export const DEFAULT_TIMEOUT = "1m";
const OUTPUTS = ["text", ...DATA_FORMATS] as const;
const MIN_TIMEOUT_MS = 100;
const MAX_TIMEOUT_MS = 3_600_000;

/** Parses the flags from commander; reports all problems, not just the first. */
export function readDoctorOptions(flags: Readonly<Record<string, unknown>>): {
  readonly options: DoctorOptions;
  readonly problems: readonly Problem[];
} {
  const problems: Problem[] = [];
  const asked = String(flags["output"] ?? "text");
  const output = OUTPUTS.find((name) => name === asked);
  if (output === undefined) {
    const message = `must be one of ${OUTPUTS.join(", ")}${suggestion(asked, OUTPUTS)}`;
    problems.push({ source: "--output", message });
  }
  const timeoutMs = parseDurationMs(String(flags["timeout"] ?? DEFAULT_TIMEOUT));
  if (timeoutMs === undefined || timeoutMs < MIN_TIMEOUT_MS || timeoutMs > MAX_TIMEOUT_MS) {
    problems.push({ source: "--timeout", message: "must be a duration such as 30s or 5m, from 100ms to 1h" });
  }
  const image = typeof flags["image"] === "string" ? flags["image"].trim() : undefined;
  if (image === "") problems.push({ source: "--image", message: "must name an image" });
  const bmc = machinesOf(flags["bmc"]);
  const text = flags["selector"];
  const selector = typeof text === "string" ? Selector.parse(text) : undefined;
  if (text !== undefined && bmc !== "all") {
    problems.push({ source: "--selector", message: "needs --bmc without machines" });
  } else if (text !== undefined && !selector) {
    problems.push({ source: "--selector", message: SELECTOR_SYNTAX });
  }
  return {
    options: { bmc: selector ?? bmc, image, output: output ?? "text", timeoutMs: timeoutMs ?? 0 },
    problems,
  };
}

function machinesOf(given: unknown): DoctorOptions["bmc"] {
  if (given === true) return "all";
  if (!Array.isArray(given)) return undefined;
  const names = given.flatMap((text) => String(text).split(",")).map((name) => name.trim());
  return [...new Set(names.filter((name) => name !== ""))];
}
