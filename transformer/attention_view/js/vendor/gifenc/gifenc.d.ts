type Colour = number[];

export function quantize(pixels: Uint8Array, most: number, options?: { format?: string }): Colour[];
export function nearestColorIndex(palette: Colour[], colour: Colour): number;
export function GIFEncoder(): {
  writeFrame(
    places: Uint8Array,
    width: number,
    height: number,
    options: {
      palette?: Colour[];
      delay?: number;
      dispose?: number;
      transparent?: boolean;
      transparentIndex?: number;
    },
  ): void;
  finish(): void;
  bytes(): Uint8Array<ArrayBuffer>;
};
