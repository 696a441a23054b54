import { LEVELS } from "../users.ts";
import type { Commands } from "./handler.ts";

/** The sensor commands (IPMI 2.0 section 35). */
export const SENSOR_COMMANDS: Commands = {
  35: {
    name: "Get Sensor Reading Factors",
    level: LEVELS.user,
    run: (data, { sdr }) => sdr.factors(data),
  },
  39: { name: "Get Sensor Thresholds", level: LEVELS.user, run: (data, { sdr }) => sdr.thresholds(data) },
  45: { name: "Get Sensor Reading", level: LEVELS.user, run: (data, { sdr }) => sdr.reading(data) },
};
