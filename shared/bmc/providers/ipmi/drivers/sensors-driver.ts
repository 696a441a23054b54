import { BmcError } from "../../../../contract/bmc-error.ts";
import type { SensorReading, SensorsDriver } from "../../../operations/sensors.ts";
import { type Answer, type CommandChannel, dataOf, PartRefusals } from "../commands/channel.ts";
import { COMPLETED, INSUFFICIENT_PRIVILEGE, NODE_BUSY } from "../commands/completion-code.ts";
import { describeSensor, type SensorAnswers } from "../records/describe-sensor.ts";
import type { SdrRepository } from "../records/sdr-repository.ts";
import {
  getReadingFactors,
  getSensorReading,
  getSensorThresholds,
  parseReadingFactors,
  parseSensorReading,
  parseSensorThresholds,
} from "../records/sensor-commands.ts";
import { type Factors, isNonLinear } from "../records/sensor-conversion.ts";
import type { SensorRecord } from "../records/sensor-record.ts";
import { BMC_ADDRESS } from "../session/message.ts";

/**
 * Sensors per flight, with two commands each: BMCs accept packets of a session within a window of 8 or more (IPMI 2.0
 * section 6.12.13).
 */
const SENSORS_PER_FLIGHT = 4;

/**
 * Reads the sensors in the sensor data records from the BMC itself. Sensors of other controllers and of LUNs other than 0
 * are reported as `not read`.
 */
export class IpmiSensors implements SensorsDriver {
  readonly #channel: CommandChannel;
  readonly #records: SdrRepository;
  readonly #owners: ReadonlySet<number>;

  /** Creates a driver. `address` is that of the controller that the channel leads to, if it is not the BMC's. */
  constructor(channel: CommandChannel, records: SdrRepository, address = BMC_ADDRESS) {
    this.#channel = channel;
    this.#records = records;
    // A controller behind the BMC may use the address of a BMC for itself.
    this.#owners = new Set([BMC_ADDRESS, address]);
  }

  async offered(signal: AbortSignal): Promise<true> {
    await this.#records.open(signal);
    return true;
  }

  async read(signal: AbortSignal): Promise<readonly SensorReading[]> {
    const records = (await this.#records.read(signal)).filter(({ eventOnly }) => !eventOnly);
    if (records.length === 0) throw new BmcError("unsupported", "the BMC has no sensors in its records");
    const found: (readonly [SensorRecord, SensorAnswers | undefined])[] = [];
    for (let at = 0; at < records.length; at += SENSORS_PER_FLIGHT) {
      const some = records.slice(at, at + SENSORS_PER_FLIGHT);
      const answers = await this.#ask(some, signal);
      for (const record of some) found.push([record, answers.get(record)]);
    }
    const asked = found.flatMap(([, answers]) => answers ?? []);
    // If every sensor is refused like this, it does not concern one of them.
    const whole = asked.every(isRefusedAsWhole) ? asked.find(isRefusedAsWhole)?.refused : undefined;
    if (whole) dataOf(whole);
    const ignoresScanning = saysNothingOfScanning(asked);
    const readings = found.map(([record, answers]) => describeSensor(record, answers, { ignoresScanning }));
    const gaps = this.#records.gaps.map(
      ({ name, reason }): SensorReading => ({
        name,
        kind: "other",
        health: "unknown",
        state: "not read",
        reason,
      }),
    );
    return [...readings, ...gaps];
  }

  #isOwn({ owner, lun }: SensorRecord): boolean {
    return this.#owners.has(owner) && lun === 0;
  }

  async #ask(
    records: readonly SensorRecord[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<SensorRecord, SensorAnswers>> {
    const asked = records
      .filter((record) => this.#isOwn(record))
      .map((record) => ({
        record,
        commands: [
          getSensorReading(record.number),
          ...(record.thresholds?.readable ? [getSensorThresholds(record.number)] : []),
        ],
      }));
    if (asked.length === 0) return new Map();
    const answers = [
      ...(await this.#channel.run(
        asked.flatMap(({ commands }) => commands),
        signal,
      )),
    ];
    const found = new Map<SensorRecord, SensorAnswers>();
    for (const { record, commands } of asked) {
      const [reading, thresholds] = answers.splice(0, commands.length);
      if (reading) found.set(record, await this.#answersOf(record, reading, thresholds, signal));
    }
    return found;
  }

  async #answersOf(
    record: SensorRecord,
    reading: Answer,
    thresholds: Answer | undefined,
    signal: AbortSignal,
  ): Promise<SensorAnswers> {
    if (reading.completionCode !== COMPLETED) {
      return { refused: reading };
    }
    try {
      const raw = parseSensorReading(reading.data);
      const limits =
        thresholds?.completionCode === COMPLETED ? parseSensorThresholds(thresholds.data) : record.thresholds;
      const factors = await this.#factorsOf(record, [raw.raw, ...(limits?.raw ?? [])], signal);
      return { reading: raw, thresholds: limits, factors };
    } catch (thrown) {
      return { problem: new PartRefusals().of(thrown).message };
    }
  }

  /** The conversion factors of a non-linear sensor by raw value; undefined for other sensors. */
  async #factorsOf(
    { analog, number }: SensorRecord,
    raws: readonly number[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<number, Factors> | undefined> {
    if (!analog || !isNonLinear(analog.linearisation)) return undefined;
    const distinct = [...new Set(raws)];
    const commands = distinct.map((raw) => getReadingFactors(number, raw));
    const answers = await this.#channel.run(commands, signal);
    return new Map(
      answers.flatMap((answer, index) => {
        const raw = distinct[index];
        if (raw === undefined || answer.completionCode !== COMPLETED) return [];
        return [[raw, parseReadingFactors(answer.data)] as const];
      }),
    );
  }
}

/** Codes that concern the session, or that a BMC returns temporarily. */
const OF_WHOLE: readonly number[] = [INSUFFICIENT_PRIVILEGE, NODE_BUSY];

function isRefusedAsWhole(answers: SensorAnswers): answers is { readonly refused: Answer } {
  return "refused" in answers && OF_WHOLE.includes(answers.refused.completionCode);
}

/**
 * Whether the scanning bit means nothing: old BMCs of Dell and HP report every sensor as not scanned, with correct readings.
 */
function saysNothingOfScanning(all: readonly SensorAnswers[]): boolean {
  const readings = all.flatMap((answers) => ("reading" in answers ? [answers.reading] : []));
  const isUnscanned = readings.every(({ isScanned }) => !isScanned);
  return isUnscanned && readings.filter(({ isAvailable, raw }) => isAvailable && raw !== 0).length > 1;
}
