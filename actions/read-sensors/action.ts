import { describeSensors, SENSOR_HEALTHS } from "../../shared/bmc/operations/sensors.ts";
import { defineAction } from "../harness/action.ts";
import { sensorTable } from "./sensor-table.ts";

export default defineAction({
  name: "read-sensors",
  summary: "Read a machine's temperatures, fans, voltages and power",
  idempotent: true,
  input: {},
  run: async ({ bmc, signal }) => {
    const sensors = await bmc.getSensors(signal);
    const counts = Object.fromEntries(
      SENSOR_HEALTHS.map((health) => [health, sensors.filter((one) => one.health === health).length]),
    );
    return { summary: describeSensors(sensors), changed: false, data: { counts, sensors } };
  },
  table: ({ sensors }) => sensorTable(sensors),
});
