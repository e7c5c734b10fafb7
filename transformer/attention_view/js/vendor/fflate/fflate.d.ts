type Packed = [bytes: Uint8Array, options: { level: number; mtime: string }];

export function zipSync(files: Record<string, Packed>): Uint8Array<ArrayBuffer>;
