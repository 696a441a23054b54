/** What an event says about the machine while it is asserted. */
export type Severity = "ok" | "warning" | "critical";

export interface EventMeaning {
  readonly text: string;
  readonly severity: Severity;
}

type Offsets = Readonly<Record<number, EventMeaning>>;

function ok(text: string): EventMeaning {
  return { text, severity: "ok" };
}

function warning(text: string): EventMeaning {
  return { text, severity: "warning" };
}

function critical(text: string): EventMeaning {
  return { text, severity: "critical" };
}

/** Offset n is the n-th meaning. */
function inOrder(...meanings: readonly EventMeaning[]): Offsets {
  return { ...meanings };
}

export const THRESHOLD_EVENT = 0x01;
export const SENSOR_SPECIFIC_EVENT = 0x6f;

/** Generic event types by event type and offset (IPMI 2.0 table 42-2). */
export const GENERIC_EVENTS: Readonly<Record<number, Offsets>> = {
  [THRESHOLD_EVENT]: inOrder(
    warning("below the lower non-critical threshold, going low"),
    ok("below the lower non-critical threshold, going high"),
    critical("below the lower critical threshold, going low"),
    warning("below the lower critical threshold, going high"),
    critical("below the lower non-recoverable threshold, going low"),
    critical("below the lower non-recoverable threshold, going high"),
    ok("above the upper non-critical threshold, going low"),
    warning("above the upper non-critical threshold, going high"),
    warning("above the upper critical threshold, going low"),
    critical("above the upper critical threshold, going high"),
    critical("above the upper non-recoverable threshold, going low"),
    critical("above the upper non-recoverable threshold, going high"),
  ),
  2: inOrder(ok("idle"), ok("active"), ok("busy")),
  3: inOrder(ok("state deasserted"), warning("state asserted")),
  4: inOrder(ok("predictive failure deasserted"), warning("predictive failure asserted")),
  5: inOrder(ok("limit not exceeded"), warning("limit exceeded")),
  6: inOrder(ok("performance met"), warning("performance lags")),
  7: inOrder(
    ok("OK"),
    warning("non-critical, from OK"),
    critical("critical, from less severe"),
    critical("non-recoverable, from less severe"),
    warning("non-critical, from more severe"),
    critical("critical, from non-recoverable"),
    critical("non-recoverable"),
    ok("monitor"),
    ok("informational"),
  ),
  8: inOrder(ok("device absent"), ok("device present")),
  9: inOrder(ok("device disabled"), ok("device enabled")),
  10: inOrder(
    ok("running"),
    ok("in test"),
    ok("powered off"),
    ok("on-line"),
    ok("off-line"),
    ok("off duty"),
    warning("degraded"),
    ok("power save"),
    critical("install error"),
  ),
  11: inOrder(
    ok("fully redundant"),
    critical("redundancy lost"),
    warning("redundancy degraded"),
    warning("not redundant, sufficient resources, from redundant"),
    warning("not redundant, sufficient resources, from insufficient"),
    critical("not redundant, insufficient resources"),
    warning("redundancy degraded, from fully redundant"),
    warning("redundancy degraded, from not redundant"),
  ),
  12: inOrder(ok("device power state D0"), ok("D1"), ok("D2"), ok("D3")),
};

/** Sensor types by number (IPMI 2.0 table 42-3), with the events that are the type's own. */
export const SENSOR_TYPES: Readonly<Record<number, { readonly name: string; readonly events?: Offsets }>> = {
  1: { name: "temperature" },
  2: { name: "voltage" },
  3: { name: "current" },
  4: { name: "fan" },
  5: {
    name: "physical security",
    events: inOrder(
      warning("general chassis intrusion"),
      warning("drive bay intrusion"),
      warning("I/O card area intrusion"),
      warning("processor area intrusion"),
      warning("LAN leash lost"),
      warning("unauthorised dock"),
      warning("fan area intrusion"),
    ),
  },
  6: {
    name: "platform security",
    events: inOrder(
      warning("secure mode violation attempt"),
      warning("user password violation before boot"),
      warning("set-up password violation before boot"),
      warning("network boot password violation before boot"),
      warning("other password violation before boot"),
      warning("out-of-band access password violation"),
    ),
  },
  7: {
    name: "processor",
    events: inOrder(
      critical("internal error (IERR)"),
      critical("thermal trip"),
      critical("FRB1/BIST failure"),
      critical("FRB2/hang in POST"),
      critical("FRB3/start-up failure"),
      critical("configuration error"),
      critical("uncorrectable SMBIOS CPU-complex error"),
      ok("present"),
      warning("disabled"),
      ok("terminator present"),
      warning("throttled automatically"),
      critical("uncorrectable machine check exception"),
      warning("correctable machine check error"),
    ),
  },
  8: {
    name: "power supply",
    events: inOrder(
      ok("present"),
      critical("failure detected"),
      warning("predictive failure"),
      critical("input lost"),
      critical("input lost or out of range"),
      warning("input out of range, but present"),
      critical("configuration error"),
      ok("inactive (standby)"),
    ),
  },
  9: {
    name: "power unit",
    events: inOrder(
      ok("powered off"),
      ok("power cycle"),
      ok("240 VA power down"),
      ok("interlock power down"),
      critical("AC lost"),
      critical("soft power control failure"),
      critical("failure detected"),
      warning("predictive failure"),
    ),
  },
  10: { name: "cooling device" },
  11: { name: "other unit" },
  12: {
    name: "memory",
    events: inOrder(
      warning("correctable ECC error"),
      critical("uncorrectable ECC error"),
      critical("parity error"),
      critical("memory scrub failed"),
      warning("memory device disabled"),
      warning("correctable ECC error logging limit reached"),
      ok("present"),
      critical("configuration error"),
      ok("spare"),
      warning("throttled automatically"),
      critical("critical overtemperature"),
    ),
  },
  13: {
    name: "drive slot",
    events: inOrder(
      ok("drive present"),
      critical("drive fault"),
      warning("predictive failure"),
      ok("hot spare"),
      ok("parity check in progress"),
      critical("in critical array"),
      critical("in failed array"),
      ok("rebuild in progress"),
      warning("rebuild aborted"),
    ),
  },
  14: { name: "POST memory resize" },
  15: {
    name: "system firmware",
    events: inOrder(critical("POST error"), critical("firmware hang"), ok("progress")),
  },
  16: {
    name: "event logging",
    events: inOrder(
      warning("correctable memory error logging disabled"),
      warning("logging of an event type disabled"),
      ok("log cleared"),
      warning("all logging disabled"),
      warning("log full"),
      warning("log almost full"),
      warning("correctable machine check error logging disabled"),
    ),
  },
  17: {
    name: "watchdog 1",
    events: inOrder(
      critical("BIOS reset"),
      critical("OS reset"),
      critical("OS shut down"),
      critical("OS power down"),
      critical("OS power cycle"),
      critical("OS NMI"),
      warning("OS expired, status only"),
      warning("OS pre-time-out interrupt"),
    ),
  },
  18: {
    name: "system event",
    events: inOrder(
      ok("system reconfigured"),
      ok("OEM system boot"),
      critical("undetermined hardware failure"),
      ok("entry added to the auxiliary log"),
      ok("platform event filter action"),
      ok("time stamp clock synchronised"),
    ),
  },
  19: {
    name: "critical interrupt",
    events: inOrder(
      critical("front panel NMI"),
      critical("bus time-out"),
      critical("I/O channel check NMI"),
      critical("software NMI"),
      critical("PCI PERR"),
      critical("PCI SERR"),
      critical("EISA fail-safe time-out"),
      warning("correctable bus error"),
      critical("uncorrectable bus error"),
      critical("fatal NMI"),
      critical("fatal bus error"),
      warning("bus degraded"),
    ),
  },
  20: {
    name: "button",
    events: inOrder(
      ok("power button pressed"),
      ok("sleep button pressed"),
      ok("reset button pressed"),
      ok("FRU latch opened"),
      ok("FRU service requested"),
    ),
  },
  21: { name: "module or board" },
  22: { name: "microcontroller" },
  23: { name: "add-in card" },
  24: { name: "chassis" },
  25: {
    name: "chip set",
    events: inOrder(critical("soft power control failure"), critical("thermal trip")),
  },
  26: { name: "other FRU" },
  27: {
    name: "cable or interconnect",
    events: inOrder(ok("connected"), critical("wrong connection")),
  },
  28: { name: "terminator" },
  29: {
    name: "system boot initiated",
    events: inOrder(
      ok("by power up"),
      ok("by hard reset"),
      ok("by warm reset"),
      ok("user requested PXE boot"),
      ok("automatic boot to diagnostic"),
      ok("by operating system hard reset"),
      ok("by operating system warm reset"),
      ok("system restart"),
    ),
  },
  30: {
    name: "boot error",
    events: inOrder(
      critical("no bootable media"),
      critical("non-bootable disk in drive"),
      critical("PXE server not found"),
      critical("invalid boot sector"),
      warning("time-out waiting for a boot source"),
    ),
  },
  31: {
    name: "OS boot",
    events: inOrder(
      ok("boot from A: completed"),
      ok("boot from C: completed"),
      ok("PXE boot completed"),
      ok("diagnostic boot completed"),
      ok("CD-ROM boot completed"),
      ok("ROM boot completed"),
      ok("boot completed"),
      ok("OS installation started"),
      ok("OS installation completed"),
      warning("OS installation aborted"),
      critical("OS installation failed"),
    ),
  },
  32: {
    name: "OS stop",
    events: inOrder(
      critical("stopped during load"),
      critical("stopped at run time"),
      ok("stopped gracefully"),
      ok("shut down gracefully"),
      ok("soft shutdown by platform event filter"),
      warning("agent not responding"),
    ),
  },
  33: {
    name: "slot or connector",
    events: inOrder(
      critical("fault"),
      ok("identify"),
      ok("device attached"),
      ok("ready for device installation"),
      ok("ready for device removal"),
      warning("power off"),
      ok("device removal requested"),
      warning("interlock asserted"),
      warning("disabled"),
      ok("holds a spare device"),
    ),
  },
  34: {
    name: "ACPI power state",
    events: inOrder(
      ok("S0/G0 working"),
      ok("S1 sleeping"),
      ok("S2 sleeping"),
      ok("S3 sleeping"),
      ok("S4 suspend to disk"),
      ok("S5/G2 soft off"),
      ok("S4/S5 soft off"),
      ok("G3 mechanical off"),
      ok("sleeping in S1, S2 or S3"),
      ok("G1 sleeping"),
      ok("S5 entered by override"),
      ok("legacy on"),
      ok("legacy off"),
    ),
  },
  35: {
    name: "watchdog 2",
    events: {
      ...inOrder(
        warning("timer expired, status only"),
        critical("hard reset"),
        critical("power down"),
        critical("power cycle"),
      ),
      8: warning("timer interrupt"),
    },
  },
  36: {
    name: "platform alert",
    events: inOrder(
      ok("page generated"),
      ok("LAN alert generated"),
      ok("event trap generated"),
      ok("SNMP trap"),
    ),
  },
  37: { name: "entity presence", events: inOrder(ok("present"), ok("absent"), warning("disabled")) },
  38: { name: "monitor ASIC" },
  39: { name: "LAN", events: inOrder(warning("heartbeat lost"), ok("heartbeat")) },
  40: {
    name: "management subsystem health",
    events: inOrder(
      warning("sensor access degraded or unavailable"),
      warning("controller access degraded or unavailable"),
      critical("controller off-line"),
      critical("controller unavailable"),
      critical("sensor failure"),
      critical("FRU failure"),
    ),
  },
  41: {
    name: "battery",
    events: inOrder(warning("low"), critical("failed"), ok("present")),
  },
  42: {
    name: "session audit",
    events: inOrder(
      ok("session activated"),
      ok("session deactivated"),
      warning("invalid user name or password"),
      warning("account disabled after invalid passwords"),
    ),
  },
  43: {
    name: "version change",
    events: inOrder(
      ok("hardware change detected"),
      ok("firmware or software change detected"),
      critical("hardware incompatibility"),
      critical("firmware or software incompatibility"),
      critical("unsupported hardware version"),
      critical("unsupported firmware or software version"),
      ok("hardware change succeeded"),
      ok("firmware or software change succeeded"),
    ),
  },
  44: {
    name: "FRU state",
    events: inOrder(
      ok("not installed"),
      ok("inactive"),
      ok("activation requested"),
      ok("activation in progress"),
      ok("active"),
      ok("deactivation requested"),
      ok("deactivation in progress"),
      critical("communication lost"),
    ),
  },
};

/** Progress of the system firmware: event data 2 of sensor type 0x0f, offsets 1 and 2. */
export const FIRMWARE_PROGRESS: readonly string[] = [
  "unspecified",
  "memory initialisation",
  "hard disk initialisation",
  "secondary processor initialisation",
  "user authentication",
  "user-initiated set-up",
  "USB configuration",
  "PCI configuration",
  "option ROM initialisation",
  "video initialisation",
  "cache initialisation",
  "SMBus initialisation",
  "keyboard controller initialisation",
  "management controller initialisation",
  "docking station attachment",
  "docking station enabled",
  "docking station ejection",
  "docking station disabled",
  "calling the operating system's wake-up vector",
  "starting the operating system",
  "baseboard initialisation",
  "reserved",
  "floppy initialisation",
  "keyboard test",
  "pointing device test",
  "primary processor initialisation",
];

/** POST errors: event data 2 of sensor type 0x0f, offset 0. */
export const FIRMWARE_ERRORS: readonly string[] = [
  "unspecified",
  "no system memory",
  "no usable system memory",
  "unrecoverable disk failure",
  "unrecoverable baseboard failure",
  "unrecoverable floppy failure",
  "unrecoverable disk controller failure",
  "unrecoverable keyboard failure",
  "no removable boot medium",
  "unrecoverable video controller failure",
  "no video device",
  "firmware checksum error",
  "CPU voltage mismatch",
  "CPU speed mismatch",
];
