import type { PowerState } from "../../../../contract/vocabulary.ts";

/** Only the two settled states; `PoweringOn`, `PoweringOff`, `Paused` and anything else are neither. */
export function powerState(text: string | undefined): PowerState {
  if (text === "On") return "on";
  if (text === "Off") return "off";
  return "unknown";
}
