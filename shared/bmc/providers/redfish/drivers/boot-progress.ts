import * as z from "zod/mini";
import { defined } from "../../../../defined.ts";
import type { BootProgress, BootStage } from "../../../operations/boot-port.ts";
import { lenient, type System } from "../service/schema.ts";

/**
 * The stage that a machine has passed in a state of `BootProgress.LastState` (DSP0268, ComputerSystem). Other states come
 * before every stage.
 */
const STATES: Readonly<Record<string, BootStage>> = {
  SystemHardwareInitializationComplete: "hardware-ready",
  SetupEntered: "hardware-ready",
  OSBootStarted: "boot-started",
  OSRunning: "os-running",
};

/** `PostState` of iLO 4 and later (HPE iLO RESTful API, ComputerSystem). */
const POST_STATES: Readonly<Record<string, BootStage>> = {
  InPostDiscoveryComplete: "hardware-ready",
  FinishedPost: "boot-started",
};
/** States without information. */
const NO_POST_STATES = ["Null", "Unknown"];

const HpeSystem = z.object({ PostState: lenient(z.string()) });
const Oem = z.object({ Hpe: lenient(HpeSystem), Hp: lenient(HpeSystem) });

/** The maximum length, because states are shown and logged. */
const MOST_CHARACTERS = 100;

/** The boot progress; undefined if the BMC reports none. */
export function bootProgress(system: System): BootProgress | undefined {
  const { BootProgress: standard, LastResetTime: lastReset } = system;
  const { LastState: state, LastStateTime: time, OemLastState: own } = standard ?? {};
  if (state !== undefined) {
    const since = Date.parse(time ?? "");
    const reset = Date.parse(lastReset ?? "");
    const shown = state === "OEM" ? (own ?? state) : state;
    return defined({
      state: shown.slice(0, MOST_CHARACTERS),
      stage: stageOf(STATES, state),
      isOfThisBoot: Number.isNaN(since) || Number.isNaN(reset) ? undefined : since >= reset,
    });
  }
  const { Hpe: hpe, Hp: hp } = z.safeParse(Oem, system.Oem).data ?? {};
  const post = (hpe ?? hp)?.PostState;
  if (post === undefined || NO_POST_STATES.includes(post)) {
    // A property without a present value, such as on a machine that is off, is null (DSP0266, 9.5).
    return standard && { state: "None" };
  }
  return defined({ state: post.slice(0, MOST_CHARACTERS), stage: stageOf(POST_STATES, post) });
}

function stageOf(stages: Readonly<Record<string, BootStage>>, state: string): BootStage | undefined {
  return Object.hasOwn(stages, state) ? stages[state] : undefined;
}
