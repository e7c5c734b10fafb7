export class Mp4OutputFormat {
  constructor(options: { fastStart: "in-memory" });
}

export class WebMOutputFormat {}

export class BufferTarget {
  buffer: ArrayBuffer | null;
}

export class EncodedPacket {
  static fromEncodedChunk(chunk: EncodedVideoChunk): EncodedPacket;
}

export class EncodedVideoPacketSource {
  constructor(codec: string);
  add(packet: EncodedPacket, about?: EncodedVideoChunkMetadata): Promise<void>;
}

export class Output {
  constructor(options: { format: Mp4OutputFormat | WebMOutputFormat; target: BufferTarget });
  target: BufferTarget;
  state: string;
  addVideoTrack(source: EncodedVideoPacketSource, options: { frameRate: number }): void;
  start(): Promise<void>;
  finalize(): Promise<void>;
  cancel(): Promise<void>;
}
