/**
 * Loaded into a worker before its own code (NODE_OPTIONS=--import=…): its time passes `CLOCK_SCALE` times as fast. The worker's
 * children inherit none of this.
 */
const scale = Number(process.env["CLOCK_SCALE"]);
const RealDate = Date;
const startMs = RealDate.now();
const { setTimeout: afterReal, setInterval: everyReal } = globalThis;
const realNow = performance.now.bind(performance);
const realTimeout = AbortSignal.timeout.bind(AbortSignal);
const nowMs = () => startMs + (RealDate.now() - startMs) * scale;

performance.now = () => realNow() * scale;
AbortSignal.timeout = (ms) => realTimeout(Math.ceil(ms / scale));
Object.assign(globalThis, {
  Date: new Proxy(RealDate, {
    construct: (target, given: unknown[]) => Reflect.construct(target, given.length > 0 ? given : [nowMs()]),
    get: (target, name) => (name === "now" ? nowMs : Reflect.get(target, name)),
  }),
  setTimeout: Object.assign(
    (run: () => void, ms = 0, ...given: []) => afterReal(run, ms / scale, ...given),
    afterReal,
  ),
  setInterval: (run: () => void, ms = 0, ...given: []) => everyReal(run, ms / scale, ...given),
});
