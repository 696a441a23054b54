import { defined } from "../../shared/defined.ts";
import type { RecordedAmt } from "../../shared/recording/recording.ts";
import { type Answer, type Fields, fault } from "../amt/answers.ts";
import type { AmtDeviceOptions } from "../amt/device.ts";
import type { SimulatedMachine } from "../machine.ts";

type Value = RecordedAmt["classes"][string][number][string];
type Refusal = NonNullable<RecordedAmt["refused"]>[string];

const POWER = "CIM_AssociatedPowerManagementService";
const ON = "2";
/** OptInRequired of a device that asks its user for everything, and the states in which the user has agreed. */
const FOR_ALL = "4294967295";
const GIVEN = ["3", "4"];

/** What the simulator's device must be to be the recorded one. */
export function amtOptions({ classes, refused = {}, server }: RecordedAmt): AmtDeviceOptions {
  const [consent] = classes["IPS_OptInService"] ?? [];
  const waits =
    consent?.["OptInRequired"] === FOR_ALL && !GIVEN.includes(String(consent["OptInState"] ?? ""));
  return {
    instances: Object.fromEntries(
      Object.entries(classes).map(([name, instances]) => [
        name,
        instances.map(
          (fields): Fields =>
            Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, contentOf(value)])),
        ),
      ]),
    ),
    refusals: Object.fromEntries(Object.entries(refused).map(([asked, one]) => [asked, answerOf(one)])),
    consent: waits ? "required" : "none",
    ...defined({ server }),
  };
}

/** Puts the machine into the recorded state. */
export function adoptPower({ classes }: RecordedAmt, machine: SimulatedMachine): void {
  const state = classes[POWER]?.[0]?.["PowerState"];
  if (state !== undefined) machine.force(state === ON ? "on" : "off");
}

function answerOf({ status, subcode, reason = "" }: Refusal): Answer {
  if (subcode === undefined) return () => ({ status });
  return (asked) => ({ ...fault(escaped(subcode), escaped(reason))(asked), status });
}

/** What was removed is empty. */
function contentOf(value: Value): Fields[string] {
  if (value === null) return "";
  if (typeof value === "string") return escaped(value);
  if (Array.isArray(value)) return value.map(escaped);
  const keys = Object.entries(value.keys).map(([name, text]) => [name, escaped(text)]);
  return { of: value.of, keys: Object.fromEntries(keys) };
}

/** A file may hold any text. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
