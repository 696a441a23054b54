import { defined } from "../../shared/defined.ts";
import type { RecordedAmt } from "../../shared/recording/recording.ts";
import { type Answer, type Fields, fault } from "../amt/answers.ts";
import type { AmtDeviceOptions } from "../amt/device.ts";
import type { SimulatedMachine } from "../machine.ts";

type Instance = RecordedAmt["classes"][string][number];
type Value = Instance[string];
type Refusal = NonNullable<RecordedAmt["refused"]>[string];

export const POWER = "CIM_AssociatedPowerManagementService";
const ON = "2";
/** OptInRequired of a device that asks its user about everything, and the states in which the user has agreed. */
const FOR_ALL = "4294967295";
const GIVEN = ["3", "4"];

/** Returns the options with which the simulated device behaves like the recorded one. */
export function amtOptions({ classes, refused = {}, server }: RecordedAmt): AmtDeviceOptions {
  const [consent] = classes["IPS_OptInService"] ?? [];
  const waits =
    consent?.["OptInRequired"] === FOR_ALL && !GIVEN.includes(String(consent["OptInState"] ?? ""));
  return {
    instances: Object.fromEntries(
      Object.entries(classes).map(([name, instances]) => [name, instances.map(writtenFields)]),
    ),
    refusals: Object.fromEntries(Object.entries(refused).map(([asked, one]) => [asked, answerOf(one)])),
    consent: waits ? "required" : "none",
    ...defined({ server }),
  };
}

/** Sets the machine to the recorded state. */
export function adoptPower({ classes }: RecordedAmt, machine: SimulatedMachine): void {
  forcePower(classes[POWER]?.[0], machine);
}

/** Sets the machine to the state that the power association shows. */
export function forcePower(association: Instance | undefined, machine: SimulatedMachine): void {
  const state = association?.["PowerState"];
  if (state !== undefined) machine.force(state === ON ? "on" : "off");
}

function answerOf({ status, subcode, reason = "" }: Refusal): Answer {
  if (subcode === undefined) return () => ({ status });
  return (asked) => ({ ...fault(escaped(subcode), escaped(reason))(asked), status });
}

/** Returns the fields in the form of the simulator's answers. */
export function writtenFields(instance: Instance): Fields {
  return Object.fromEntries(Object.entries(instance).map(([field, value]) => [field, contentOf(value)]));
}

/** Returns the content of a value. A removed value is empty. */
function contentOf(value: Value): Fields[string] {
  if (value === null) return "";
  if (typeof value === "string") return escaped(value);
  if (Array.isArray(value)) return value.map(escaped);
  const keys = Object.entries(value.keys).map(([name, text]) => [name, escaped(text)]);
  return { of: value.of, keys: Object.fromEntries(keys) };
}

/** Escapes text, because a file may hold any text. */
export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
