interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

export type Values = ArrayLike<number>;

export default class uPlot {
  static pxRatio: number;
  constructor(options: object, data: (null | Values[])[], host: HTMLElement);
  bbox: Box;
  ctx: CanvasRenderingContext2D;
  cursor: { left: number; top: number; event?: MouseEvent | null };
  data: (null | Values[])[];
  over: HTMLElement;
  select: Box;
  batch(change: () => void): void;
  destroy(): void;
  posToVal(place: number, scale: string): number;
  redraw(paths?: boolean): void;
  setCursor(place: { left: number; top: number }): void;
  setData(data: (null | Values[])[], rescale?: boolean): void;
  setScale(scale: string, range: { min: number; max: number }): void;
  setSelect(box: Box, fire?: boolean): void;
  setSize(size: { width: number; height: number }): void;
  valToPos(value: number, scale: string, onCanvas?: boolean): number;
}
