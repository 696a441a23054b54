/** What `ipmitool -vvvvv` 1.8.19 printed of two sessions; the keys are its own computations. */
export interface Capture {
  readonly bmc: string;
  readonly suiteId: 3 | 17;
  readonly password: string;
  readonly kg: string | undefined;
  readonly consoleId: number;
  readonly bmcId: number;
  readonly consoleRandom: Buffer;
  readonly openSessionRequest: Buffer;
  readonly openSessionResponse: Buffer;
  readonly rakp1: Buffer;
  readonly rakp2: Buffer;
  readonly rakp3: Buffer;
  readonly rakp4: Buffer;
  readonly sik: Buffer;
  readonly k1: Buffer;
  readonly k2: Buffer;
  /** Set Session Privilege Level, operator, session sequence 3. */
  readonly request: Buffer;
  readonly requestIv: Buffer;
  readonly response: Buffer;
}

export const captures: readonly Capture[] = [
  {
    bmc: "OpenIPMI's ipmi_sim",
    suiteId: 3,
    password: "password",
    kg: undefined,
    consoleId: 0xa0a2a3a4,
    bmcId: 0x00000002,
    consoleRandom: bytes("9a 3f b2 48 d9 45 c2 4c b3 37 8b 1e ce 5b 3d 42"),
    openSessionRequest: bytes(`
      06 00 ff 07 06 10 00 00 00 00 00 00 00 00 20 00 00 03 00 00 a4 a3 a2 a0 00 00 00 08 01 00 00 00
      01 00 00 08 01 00 00 00 02 00 00 08 01 00 00 00`),
    openSessionResponse: bytes(`
      06 00 ff 07 06 11 00 00 00 00 00 00 00 00 24 00 00 00 03 00 a4 a3 a2 a0 02 00 00 00 00 00 00 08
      01 00 00 00 01 00 00 08 01 00 00 00 02 00 00 08 01 00 00 00`),
    rakp1: bytes(`
      06 00 ff 07 06 12 00 00 00 00 00 00 00 00 21 00 00 00 00 00 02 00 00 00 9a 3f b2 48 d9 45 c2 4c
      b3 37 8b 1e ce 5b 3d 42 13 00 00 05 61 64 6d 69 6e`),
    rakp2: bytes(`
      06 00 ff 07 06 13 00 00 00 00 00 00 00 00 3c 00 00 00 00 00 a4 a3 a2 a0 04 7c 82 38 da c4 fe 7c
      48 02 29 01 b4 44 27 c6 a1 23 45 67 89 ab cd ef a1 23 45 67 89 ab cd ef e9 66 d2 01 f3 b5 73 ba
      15 60 b9 42 bd a3 53 9a 35 e3 7c c3`),
    rakp3: bytes(`
      06 00 ff 07 06 14 00 00 00 00 00 00 00 00 1c 00 00 00 00 00 02 00 00 00 d7 54 5b 03 bf c0 1f 7c
      ad 4c 3d 73 71 bc 7c a8 a3 5e fd 98`),
    rakp4: bytes(`
      06 00 ff 07 06 15 00 00 00 00 00 00 00 00 14 00 00 00 00 00 a4 a3 a2 a0 1a dd a4 19 00 79 34 1f
      ea 9f 40 d9`),
    sik: bytes("a6 07 99 ee 20 f7 6f eb 09 b0 6e c3 f0 79 74 81 23 96 79 0f"),
    k1: bytes("69 ba ad 9d 56 20 ee 4d 0e 5d 1d 26 8e 21 5d 2d f5 c4 4e 21"),
    k2: bytes("bb 07 0b 79 cc 3e bd 29 18 5d f2 50 00 8d 34 82 a5 0f d8 75"),
    requestIv: bytes("ed 38 16 b9 3d c7 20 e4 4b a0 7a ef ce c2 e1 f8"),
    request: bytes(`
      06 00 ff 07 06 c0 02 00 00 00 03 00 00 00 20 00 ed 38 16 b9 3d c7 20 e4 4b a0 7a ef ce c2 e1 f8
      f5 ce a5 45 cd f0 e6 24 22 b7 d3 f9 81 1c c2 42 ff ff 02 07 a3 c7 42 3a f7 5e e8 0c 65 6e 25 d4`),
    response: bytes(`
      06 00 ff 07 06 c0 a4 a3 a2 a0 01 00 00 00 20 00 10 d6 ca 5c d5 eb b4 8f 3b 35 8b 95 d2 04 91 7e
      a2 5b 6e 2c f4 bf e5 5f 44 d7 fd 59 4b 62 74 19 ff ff 02 07 23 12 40 cb 80 29 0a 0d f0 98 54 58`),
  },
  {
    bmc: "a BMC that has a key Kg",
    suiteId: 17,
    password: "calvin",
    kg: "BMC-key-20-bytes-ok!",
    consoleId: 0xa0a2a3a4,
    bmcId: 0x5980e850,
    consoleRandom: bytes("15 16 c2 4d bd 43 73 56 f7 c8 8c 36 d0 87 75 43"),
    openSessionRequest: bytes(`
      06 00 ff 07 06 10 00 00 00 00 00 00 00 00 20 00 00 03 00 00 a4 a3 a2 a0 00 00 00 08 03 00 00 00
      01 00 00 08 04 00 00 00 02 00 00 08 01 00 00 00`),
    openSessionResponse: bytes(`
      06 00 ff 07 06 11 00 00 00 00 00 00 00 00 24 00 00 00 03 00 a4 a3 a2 a0 50 e8 80 59 00 00 00 08
      03 00 00 00 01 00 00 08 04 00 00 00 02 00 00 08 01 00 00 00`),
    rakp1: bytes(`
      06 00 ff 07 06 12 00 00 00 00 00 00 00 00 21 00 00 00 00 00 50 e8 80 59 15 16 c2 4d bd 43 73 56
      f7 c8 8c 36 d0 87 75 43 13 00 00 05 61 64 6d 69 6e`),
    rakp2: bytes(`
      06 00 ff 07 06 13 00 00 00 00 00 00 00 00 48 00 00 00 00 00 a4 a3 a2 a0 ae 47 e5 bd 0f 1d 75 05
      12 ac 6f dc a6 94 b6 7a a1 23 45 67 89 ab cd ef a1 23 45 67 89 ab cd ef e9 d7 be c7 7d ec 95 b6
      e9 c8 20 e0 48 04 5b 68 1b 9c 8b af a5 6c 6c 56 57 07 57 04 9b 89 13 44`),
    rakp3: bytes(`
      06 00 ff 07 06 14 00 00 00 00 00 00 00 00 28 00 00 00 00 00 50 e8 80 59 59 3a e0 77 94 70 76 6f
      00 02 ba 95 4c b6 a6 ce de f4 f9 0f 7b ca b1 e3 b1 c3 76 6f d0 2d 43 73`),
    rakp4: bytes(`
      06 00 ff 07 06 15 00 00 00 00 00 00 00 00 18 00 00 00 00 00 a4 a3 a2 a0 88 bb 7a 49 36 4a 12 53
      28 b5 66 e9 5d 09 fe 2a`),
    sik: bytes(`
      35 e4 b7 f5 d3 ec b9 e9 4f 4e 34 8a 64 b4 38 42 b4 25 ad c8 12 f0 04 82 4a 16 38 d0 96 df fe 97`),
    k1: bytes(`
      13 1c 34 0c a1 e0 6e 28 77 dd f2 51 fc ad ba bd 22 42 50 79 c5 e1 e4 86 6a 12 bd 03 1e cb aa b9`),
    k2: bytes(`
      14 66 57 20 7b ff b1 4a 1d cd 8a 22 bf 43 5c 9a b7 c9 96 b6 05 14 5e 53 93 c0 c4 aa ce 5d b1 bb`),
    requestIv: bytes("bf 42 2d 03 65 68 03 d6 af 3f a4 3b dd 80 e6 37"),
    request: bytes(`
      06 00 ff 07 06 c0 50 e8 80 59 03 00 00 00 20 00 bf 42 2d 03 65 68 03 d6 af 3f a4 3b dd 80 e6 37
      ea 27 06 5e 5e c5 a6 00 ed a0 dd ad 50 b3 be 23 ff ff 02 07 ab cc a9 27 7d 56 f2 af dd 0b ca d0
      1d d3 0c f4`),
    response: bytes(`
      06 00 ff 07 06 c0 a4 a3 a2 a0 01 00 00 00 20 00 73 da 42 2a 01 9d 37 64 14 4a 52 73 78 9d b1 1d
      ce c2 b8 79 b5 29 2f 1e e8 26 03 18 81 24 33 dd ff ff 02 07 43 17 c2 84 79 c5 1b 94 64 6a 48 9c
      e2 af 5b 3d`),
  },
];

function bytes(hex: string): Buffer {
  return Buffer.from(hex.replace(/\s/g, ""), "hex");
}
