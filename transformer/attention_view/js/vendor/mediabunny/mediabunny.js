/*! mediabunny 1.61.0, MPL-2.0, https://github.com/Vanilagy/mediabunny */
function f(t) {
  if (!t) throw new Error("Assertion failed.");
}
var ki = Math.PI / 180,
  pt = 180 / Math.PI,
  ht = (t) => {
    let e = ((t % 360) + 360) % 360;
    if (e === 0 || e === 90 || e === 180 || e === 270) return e;
    throw new Error(`Invalid rotation ${t}.`);
  },
  Nt = [1, 0, 0, 0, 1, 0, 0, 0, 1],
  dr = (t, e, r) => {
    let [i, s, , n, o] = t,
      a = Math.abs(i) * e + Math.abs(n) * r,
      c = Math.abs(s) * e + Math.abs(o) * r;
    return Ie(Ie(ur(-e / 2, -r / 2), t), ur(a / 2, c / 2));
  },
  fr = (t) => {
    let [e, r] = t,
      i = Math.atan2(r, vi(t) ? -e : e);
    return ht(Pi(i * pt, 90));
  },
  vi = (t) => {
    let [e, r, , i, s] = t;
    return e * s - r * i < 0;
  },
  gt = (t) => {
    let e = t * ki,
      r = Math.round(Math.cos(e)),
      i = Math.round(Math.sin(e));
    return [r, i, 0, -i, r, 0, 0, 0, 1];
  },
  ur = (t, e) => [1, 0, 0, 0, 1, 0, t, e, 1],
  mr = (t, e) => [t, 0, 0, 0, e, 0, 0, 0, 1],
  Ie = (t, e) => {
    let r = new Array(9);
    for (let i = 0; i < 3; i++)
      for (let s = 0; s < 3; s++) r[3 * i + s] = t[3 * i] * e[s] + t[3 * i + 1] * e[3 + s] + t[3 * i + 2] * e[6 + s];
    return r;
  };
var j = (t) => t && t[t.length - 1],
  $ = (t) => t >= 0 && t < 2 ** 32,
  pr = (t) => t >= -(2 ** 31) && t < 2 ** 31,
  p = (t) => {
    let e = 0;
    for (; t.readBits(1) === 0 && e < 32;) e++;
    if (e >= 32) throw new Error("Invalid exponential-Golomb code.");
    return (1 << e) - 1 + t.readBits(e);
  };
var G = (t) => {
    let e = p(t);
    return (e & 1) === 0 ? -(e >> 1) : (e + 1) >> 1;
  },
  hr = (t, e, r, i) => {
    for (let s = e; s < r; s++) {
      let n = Math.floor(s / 8),
        o = t[n],
        a = 7 - (s & 7);
      ((o &= ~(1 << a)), (o |= ((i & (1 << (r - s - 1))) >> (r - s - 1)) << a), (t[n] = o));
    }
  },
  W = (t) =>
    t.constructor === Uint8Array
      ? t
      : ArrayBuffer.isView(t)
        ? new Uint8Array(t.buffer, t.byteOffset, t.byteLength)
        : new Uint8Array(t),
  we = (t) =>
    t.constructor === DataView
      ? t
      : ArrayBuffer.isView(t)
        ? new DataView(t.buffer, t.byteOffset, t.byteLength)
        : new DataView(t),
  Bi =
    typeof globalThis.TextEncoder < "u"
      ? globalThis.TextEncoder
      : class {
          constructor() {
            this.encoding = "utf-8";
          }
          encode(e = "") {
            let r = new Uint8Array(3 * e.length),
              i = 0;
            for (let s = 0; s < e.length; s++) {
              let n = e.charCodeAt(s);
              if (n < 128) r[i++] = n;
              else if (n < 2048) ((r[i++] = 192 | (n >> 6)), (r[i++] = 128 | (n & 63)));
              else if (n < 55296 || n > 57343)
                ((r[i++] = 224 | (n >> 12)), (r[i++] = 128 | ((n >> 6) & 63)), (r[i++] = 128 | (n & 63)));
              else {
                let o = s + 1 < e.length ? e.charCodeAt(s + 1) : 0;
                n < 56320 && o >= 56320 && o <= 57343
                  ? ((n = 65536 + ((n - 55296) << 10) + (o - 56320)),
                    s++,
                    (r[i++] = 240 | (n >> 18)),
                    (r[i++] = 128 | ((n >> 12) & 63)),
                    (r[i++] = 128 | ((n >> 6) & 63)),
                    (r[i++] = 128 | (n & 63)))
                  : ((r[i++] = 239), (r[i++] = 191), (r[i++] = 189));
              }
            }
            return r.slice(0, i);
          }
        },
  In =
    typeof globalThis.TextDecoder < "u"
      ? globalThis.TextDecoder
      : class {
          constructor(e = "utf-8") {
            let r = e.trim().toLowerCase();
            if (r === "utf-8" || r === "utf8" || r === "unicode-1-1-utf-8") this.encoding = "utf-8";
            else if (r === "utf-16le" || r === "utf-16") this.encoding = "utf-16le";
            else if (r === "utf-16be") this.encoding = "utf-16be";
            else throw new RangeError(`The encoding label provided ('${e}') is invalid.`);
          }
          decode(e) {
            let r = e ? W(e) : new Uint8Array(0),
              i = [];
            if (this.encoding === "utf-8") {
              let n = r.length >= 3 && r[0] === 239 && r[1] === 187 && r[2] === 191 ? 3 : 0;
              for (; n < r.length;) {
                let o = r[n];
                if (o < 128) {
                  (i.push(o), n++);
                  continue;
                }
                let a, c;
                if (o >= 194 && o < 224) ((a = 1), (c = o & 31));
                else if (o >= 224 && o < 240) ((a = 2), (c = o & 15));
                else if (o >= 240 && o < 245) ((a = 3), (c = o & 7));
                else {
                  (i.push(65533), n++);
                  continue;
                }
                let l = o === 224 ? 160 : o === 240 ? 144 : 128,
                  u = o === 237 ? 159 : o === 244 ? 143 : 191,
                  h = 1;
                for (; h <= a; h++) {
                  let y = n + h < r.length ? r[n + h] : 0;
                  if (y < l || y > u) break;
                  ((c = (c << 6) | (y & 63)), (l = 128), (u = 191));
                }
                ((n += h),
                  h <= a
                    ? i.push(65533)
                    : c >= 65536
                      ? ((c -= 65536), i.push(55296 | (c >> 10), 56320 | (c & 1023)))
                      : i.push(c));
              }
            } else {
              let n = this.encoding === "utf-16le",
                o = n ? 255 : 254,
                a = n ? 254 : 255,
                c = r.length >= 2 && r[0] === o && r[1] === a ? 2 : 0;
              for (; c + 1 < r.length;) {
                let l = n ? r[c] | (r[c + 1] << 8) : (r[c] << 8) | r[c + 1];
                if (((c += 2), l >= 55296 && l <= 56319)) {
                  let u = c + 1 < r.length ? (n ? r[c] | (r[c + 1] << 8) : (r[c] << 8) | r[c + 1]) : -1;
                  u >= 56320 && u <= 57343 ? (i.push(l, u), (c += 2)) : i.push(65533);
                } else l >= 56320 && l <= 57343 ? i.push(65533) : i.push(l);
              }
              c < r.length && i.push(65533);
            }
            let s = "";
            for (let n = 0; n < i.length; n += 8192) s += String.fromCharCode(...i.slice(n, n + 8192));
            return s;
          }
        };
var B = new Bi();
var ye = { bt709: 1, bt470bg: 5, smpte170m: 6, bt2020: 9, smpte432: 12 };
var be = { bt709: 1, smpte170m: 6, linear: 8, "iec61966-2-1": 13, pq: 16, hlg: 18 };
var xe = { rgb: 0, bt709: 1, bt470bg: 5, smpte170m: 6, "bt2020-ncl": 9 };
var At = (t) => !t || (t.primaries == null && t.transfer == null && t.matrix == null && t.fullRange == null);
var Lt = (t) =>
    t instanceof ArrayBuffer ||
    (typeof SharedArrayBuffer < "u" && t instanceof SharedArrayBuffer) ||
    ArrayBuffer.isView(t),
  Fe = class {
    constructor() {
      ((this.currentPromise = Promise.resolve()), (this.pending = 0));
    }
    async acquire() {
      let e,
        r = new Promise((s) => {
          let n = !1;
          e = () => {
            n || (s(), this.pending--, (n = !0));
          };
        }),
        i = this.currentPromise;
      return ((this.currentPromise = r), this.pending++, await i, e);
    }
  };
var wt = () => {
  let t, e;
  return {
    promise: new Promise((i, s) => {
      ((t = i), (e = s));
    }),
    resolve: t,
    reject: e,
  };
};
var K = (t) => {
  throw new Error(`Unexpected value: ${t}`);
};
var gr = (t, e, r, i) => {
  ((r = r >>> 0),
    (r = r & 16777215),
    i
      ? (t.setUint8(e, r & 255), t.setUint8(e + 1, (r >>> 8) & 255), t.setUint8(e + 2, (r >>> 16) & 255))
      : (t.setUint8(e, (r >>> 16) & 255), t.setUint8(e + 1, (r >>> 8) & 255), t.setUint8(e + 2, r & 255)));
};
var yt = "und";
var Pi = (t, e) => Math.round(t / e) * e,
  Ht = (t, e) => Math.round(t * e) / e;
var Ar = (t) => {
    let e = 0;
    for (; t !== 0;) ((t &= t - 1), e++);
    return e;
  },
  Ii = /^[a-z]{3}$/,
  wr = (t) => Ii.test(t),
  qt = 1e6 * (1 + Number.EPSILON);
var yr = (t, e) => {
  let r = t < 0 ? -1 : 1;
  t = Math.abs(t);
  let i = 0,
    s = 1,
    n = 1,
    o = 0,
    a = t;
  for (;;) {
    let c = Math.floor(a),
      l = c * n + i,
      u = c * o + s;
    if (u > e) return { num: r * n, den: o };
    if (((i = n), (s = o), (n = l), (o = u), (a = 1 / (a - c)), !isFinite(a))) break;
  }
  return { num: r * n, den: o };
};
var Fi = (async () => {})().constructor,
  Re = (t) => (t instanceof Fi || t instanceof Promise ? !0 : typeof t?.then == "function");
var Me = function* (t) {
    for (let e in t) {
      let r = t[e];
      r !== void 0 && (yield { key: e, value: r });
    }
  },
  br = (t) => {
    switch (t.toLowerCase()) {
      case "image/jpeg":
      case "image/jpg":
        return ".jpg";
      case "image/png":
        return ".png";
      case "image/gif":
        return ".gif";
      case "image/webp":
        return ".webp";
      case "image/bmp":
        return ".bmp";
      case "image/svg+xml":
        return ".svg";
      case "image/tiff":
        return ".tiff";
      case "image/avif":
        return ".avif";
      case "image/x-icon":
      case "image/vnd.microsoft.icon":
        return ".ico";
      default:
        return null;
    }
  };
var xr = (t, e) => {
  if (t.length !== e.length) return !1;
  for (let r = 0; r < t.length; r++) if (t[r] !== e[r]) return !1;
  return !0;
};
var Qt = (t) => typeof t == "number" && !Number.isNaN(t);
var bt = (t) => {
  (f(Number.isInteger(t.num)), f(Number.isInteger(t.den)), f(t.den !== 0));
  let e = Math.abs(t.num),
    r = Math.abs(t.den);
  for (; r !== 0;) {
    let s = e % r;
    ((e = r), (r = s));
  }
  let i = e || 1;
  return { num: t.num / i, den: t.den / i };
};
var xt = (t) => (Array.isArray(t) ? t : [t]),
  de = class {
    constructor() {
      this._listeners = new Map();
    }
    on(e, r, i) {
      this._listeners.has(e) || this._listeners.set(e, new Set());
      let s = { fn: r, once: i?.once ?? !1 };
      return (
        this._listeners.get(e).add(s),
        () => {
          this._listeners.get(e)?.delete(s);
        }
      );
    }
    _emit(...e) {
      let [r, i] = e,
        s = this._listeners.get(r);
      if (s)
        for (let n of s) {
          try {
            n.fn(i);
          } catch (o) {
            console.error(o);
          }
          n.once && s.delete(n);
        }
    }
  };
var Tr = (t) =>
  t !== null &&
  typeof t == "object" &&
  Object.getPrototypeOf(t) === Object.prototype &&
  Object.values(t).every((e) => typeof e == "string");
var X;
(function (t) {
  ((t[(t.Silent = 0)] = "Silent"),
    (t[(t.Errors = 1)] = "Errors"),
    (t[(t.Warnings = 2)] = "Warnings"),
    (t[(t.Info = 3)] = "Info"));
})(X || (X = {}));
var F = class t {
  constructor() {}
  static get level() {
    return t._level;
  }
  static set level(e) {
    if (e !== X.Silent && e !== X.Errors && e !== X.Warnings && e !== X.Info)
      throw new TypeError("Invalid log level. Use one of the values of the LogLevel enum.");
    t._level = e;
  }
  static get _emitter() {
    return (t._emitterInstance ??= new de());
  }
  static on(e, r, i) {
    return t._emitter.on(e, r, i);
  }
  static _error(...e) {
    (t._emitter._emit("error", e), t._level >= X.Errors && console.error(...e));
  }
  static _warn(...e) {
    (t._emitter._emit("warn", e), t._level >= X.Warnings && console.warn(...e));
  }
  static _info(...e) {
    (t._emitter._emit("info", e), t._level >= X.Info && console.info(...e));
  }
};
F._level = X.Info;
F._emitterInstance = null;
var Je = class {
    constructor(e, r) {
      if (((this.data = e), (this.mimeType = r), !(e instanceof Uint8Array)))
        throw new TypeError("data must be a Uint8Array.");
      if (typeof r != "string") throw new TypeError("mimeType must be a string.");
    }
  },
  et = class {
    constructor(e, r, i, s) {
      if (((this.data = e), (this.mimeType = r), (this.name = i), (this.description = s), !(e instanceof Uint8Array)))
        throw new TypeError("data must be a Uint8Array.");
      if (r !== void 0 && typeof r != "string") throw new TypeError("mimeType, when provided, must be a string.");
      if (i !== void 0 && typeof i != "string") throw new TypeError("name, when provided, must be a string.");
      if (s !== void 0 && typeof s != "string") throw new TypeError("description, when provided, must be a string.");
    }
  },
  Cr = (t) => {
    if (!t || typeof t != "object") throw new TypeError("tags must be an object.");
    if (t.title !== void 0 && typeof t.title != "string")
      throw new TypeError("tags.title, when provided, must be a string.");
    if (t.description !== void 0 && typeof t.description != "string")
      throw new TypeError("tags.description, when provided, must be a string.");
    if (t.artist !== void 0 && typeof t.artist != "string")
      throw new TypeError("tags.artist, when provided, must be a string.");
    if (t.album !== void 0 && typeof t.album != "string")
      throw new TypeError("tags.album, when provided, must be a string.");
    if (t.albumArtist !== void 0 && typeof t.albumArtist != "string")
      throw new TypeError("tags.albumArtist, when provided, must be a string.");
    if (t.trackNumber !== void 0 && (!Number.isInteger(t.trackNumber) || t.trackNumber <= 0))
      throw new TypeError("tags.trackNumber, when provided, must be a positive integer.");
    if (t.tracksTotal !== void 0 && (!Number.isInteger(t.tracksTotal) || t.tracksTotal <= 0))
      throw new TypeError("tags.tracksTotal, when provided, must be a positive integer.");
    if (t.discNumber !== void 0 && (!Number.isInteger(t.discNumber) || t.discNumber <= 0))
      throw new TypeError("tags.discNumber, when provided, must be a positive integer.");
    if (t.discsTotal !== void 0 && (!Number.isInteger(t.discsTotal) || t.discsTotal <= 0))
      throw new TypeError("tags.discsTotal, when provided, must be a positive integer.");
    if (t.genre !== void 0 && typeof t.genre != "string")
      throw new TypeError("tags.genre, when provided, must be a string.");
    if (t.date !== void 0 && (!(t.date instanceof Date) || Number.isNaN(t.date.getTime())))
      throw new TypeError("tags.date, when provided, must be a valid Date.");
    if (t.beatsPerMinute !== void 0 && (!Number.isInteger(t.beatsPerMinute) || t.beatsPerMinute <= 0))
      throw new TypeError("tags.beatsPerMinute, when provided, must be a positive integer.");
    if (t.lyrics !== void 0 && typeof t.lyrics != "string")
      throw new TypeError("tags.lyrics, when provided, must be a string.");
    if (t.images !== void 0) {
      if (!Array.isArray(t.images)) throw new TypeError("tags.images, when provided, must be an array.");
      for (let e of t.images) {
        if (!e || typeof e != "object") throw new TypeError("Each image in tags.images must be an object.");
        if (!(e.data instanceof Uint8Array)) throw new TypeError("Each image.data must be a Uint8Array.");
        if (typeof e.mimeType != "string") throw new TypeError("Each image.mimeType must be a string.");
        if (!["coverFront", "coverBack", "unknown"].includes(e.kind))
          throw new TypeError("Each image.kind must be 'coverFront', 'coverBack', or 'unknown'.");
      }
    }
    if (t.comment !== void 0 && typeof t.comment != "string")
      throw new TypeError("tags.comment, when provided, must be a string.");
    if (t.raw !== void 0) {
      if (!t.raw || typeof t.raw != "object") throw new TypeError("tags.raw, when provided, must be an object.");
      for (let e of Object.values(t.raw))
        if (
          e !== null &&
          typeof e != "string" &&
          !(Array.isArray(e) && e.every((r) => typeof r == "string")) &&
          !(e instanceof Uint8Array) &&
          !(e instanceof Je) &&
          !(e instanceof et) &&
          !Tr(e)
        )
          throw new TypeError(
            "Each value in tags.raw must be a string, string array, Uint8Array, RichImageData, AttachedFile, Record<string, string>, or null.",
          );
    }
  };
var Sr = (t) => {
  if (!t || typeof t != "object") throw new TypeError("disposition must be an object.");
  if (t.default !== void 0 && typeof t.default != "boolean")
    throw new TypeError("disposition.default must be a boolean.");
  if (t.primary !== void 0 && typeof t.primary != "boolean")
    throw new TypeError("disposition.primary must be a boolean.");
  if (t.forced !== void 0 && typeof t.forced != "boolean") throw new TypeError("disposition.forced must be a boolean.");
  if (t.original !== void 0 && typeof t.original != "boolean")
    throw new TypeError("disposition.original must be a boolean.");
  if (t.commentary !== void 0 && typeof t.commentary != "boolean")
    throw new TypeError("disposition.commentary must be a boolean.");
  if (t.hearingImpaired !== void 0 && typeof t.hearingImpaired != "boolean")
    throw new TypeError("disposition.hearingImpaired must be a boolean.");
  if (t.visuallyImpaired !== void 0 && typeof t.visuallyImpaired != "boolean")
    throw new TypeError("disposition.visuallyImpaired must be a boolean.");
};
var k = class t {
  constructor(e) {
    ((this.bytes = e), (this.pos = 0));
  }
  seekToByte(e) {
    this.pos = 8 * e;
  }
  readBit() {
    let e = Math.floor(this.pos / 8),
      r = this.bytes[e] ?? 0,
      i = 7 - (this.pos & 7),
      s = (r & (1 << i)) >> i;
    return (this.pos++, s);
  }
  readBits(e) {
    if (e === 1) return this.readBit();
    let r = 0;
    for (let i = 0; i < e; i++) ((r <<= 1), (r |= this.readBit()));
    return r;
  }
  writeBits(e, r) {
    let i = this.pos + e;
    for (let s = this.pos; s < i; s++) {
      let n = Math.floor(s / 8),
        o = this.bytes[n],
        a = 7 - (s & 7);
      ((o &= ~(1 << a)), (o |= ((r & (1 << (i - s - 1))) >> (i - s - 1)) << a), (this.bytes[n] = o));
    }
    this.pos = i;
  }
  copyBits(e, r) {
    let i = 0;
    for (i; i < e - 7; i += 8) this.writeBits(8, r.readBits(8));
    let s = e - i;
    s > 0 && this.writeBits(s, r.readBits(s));
  }
  readAlignedByte() {
    if (this.pos % 8 !== 0) throw new Error("Bitstream is not byte-aligned.");
    let e = this.pos / 8,
      r = this.bytes[e] ?? 0;
    return ((this.pos += 8), r);
  }
  skipBits(e) {
    this.pos += e;
  }
  getBitsLeft() {
    return this.bytes.length * 8 - this.pos;
  }
  clone() {
    let e = new t(this.bytes);
    return ((e.pos = this.pos), e);
  }
};
var tt = [96e3, 88200, 64e3, 48e3, 44100, 32e3, 24e3, 22050, 16e3, 12e3, 11025, 8e3, 7350],
  rt = [-1, 1, 2, 3, 4, 5, 6, 8];
var Tt = (t) => {
    let e = t.objectType === 5 || t.objectType === 29,
      r = t.objectType === 29,
      i = e ? t.outputSampleRate / 2 : t.outputSampleRate,
      s = r ? 1 : t.outputNumberOfChannels,
      n = rt.indexOf(s);
    if (n === -1) throw new TypeError(`Unsupported number of channels: ${t.outputNumberOfChannels}`);
    let o = 16;
    (t.objectType >= 32 && (o += 6),
      jt(i) === 15 && (o += 24),
      e && ((o += 9), jt(t.outputSampleRate) === 15 && (o += 24)));
    let a = Math.ceil(o / 8),
      c = new Uint8Array(a),
      l = new k(c);
    return (
      _r(l, t.objectType),
      Er(l, i),
      l.writeBits(4, n),
      e && (Er(l, t.outputSampleRate), _r(l, 2)),
      l.writeBits(3, 0),
      c
    );
  },
  _r = (t, e) => {
    e < 32 ? t.writeBits(5, e) : (t.writeBits(5, 31), t.writeBits(6, e - 32));
  },
  Er = (t, e) => {
    let r = jt(e);
    (t.writeBits(4, r), r === 15 && t.writeBits(24, e));
  },
  jt = (t) => {
    let e = tt.indexOf(t);
    return e === -1 ? 15 : e;
  };
var kr = [48e3, 44100, 32e3],
  vr = [24e3, 22050, 16e3];
var Ri = "1.61.0",
  Te = `Mediabunny v${Ri}`;
var it;
(function (t) {
  ((t[(t.NON_IDR_SLICE = 1)] = "NON_IDR_SLICE"),
    (t[(t.SLICE_DPA = 2)] = "SLICE_DPA"),
    (t[(t.SLICE_DPB = 3)] = "SLICE_DPB"),
    (t[(t.SLICE_DPC = 4)] = "SLICE_DPC"),
    (t[(t.IDR = 5)] = "IDR"),
    (t[(t.SEI = 6)] = "SEI"),
    (t[(t.SPS = 7)] = "SPS"),
    (t[(t.PPS = 8)] = "PPS"),
    (t[(t.AUD = 9)] = "AUD"),
    (t[(t.SPS_EXT = 13)] = "SPS_EXT"));
})(it || (it = {}));
var Z;
(function (t) {
  ((t[(t.RASL_N = 8)] = "RASL_N"),
    (t[(t.RASL_R = 9)] = "RASL_R"),
    (t[(t.BLA_W_LP = 16)] = "BLA_W_LP"),
    (t[(t.RSV_IRAP_VCL23 = 23)] = "RSV_IRAP_VCL23"),
    (t[(t.VPS_NUT = 32)] = "VPS_NUT"),
    (t[(t.SPS_NUT = 33)] = "SPS_NUT"),
    (t[(t.PPS_NUT = 34)] = "PPS_NUT"),
    (t[(t.AUD_NUT = 35)] = "AUD_NUT"),
    (t[(t.PREFIX_SEI_NUT = 39)] = "PREFIX_SEI_NUT"),
    (t[(t.SUFFIX_SEI_NUT = 40)] = "SUFFIX_SEI_NUT"));
})(Z || (Z = {}));
var Ct = function* (t) {
  let e = 0,
    r = -1;
  for (; e < t.length - 2;) {
    let i = t.indexOf(0, e);
    if (i === -1 || i >= t.length - 2) break;
    e = i;
    let s = 0;
    if (
      (e + 3 < t.length && t[e + 1] === 0 && t[e + 2] === 0 && t[e + 3] === 1
        ? (s = 4)
        : t[e + 1] === 0 && t[e + 2] === 1 && (s = 3),
      s === 0)
    ) {
      e++;
      continue;
    }
    (r !== -1 && e > r && (yield { offset: r, length: e - r }), (r = e + s), (e = r));
  }
  r !== -1 && r < t.length && (yield { offset: r, length: t.length - r });
};
var Ui = (t) => t & 31,
  Gt = (t) => {
    let e = [],
      r = t.length;
    for (let i = 0; i < r; i++)
      i + 2 < r && t[i] === 0 && t[i + 1] === 0 && t[i + 2] === 3 ? (e.push(0, 0), (i += 2)) : e.push(t[i]);
    return new Uint8Array(e);
  };
var Zn = new Uint8Array([0, 0, 0, 1]);
var Vr = (t, e) => {
  let r = t.reduce((n, o) => n + e + o.byteLength, 0),
    i = new Uint8Array(r),
    s = 0;
  for (let n of t) {
    let o = new DataView(i.buffer, i.byteOffset, i.byteLength);
    switch (e) {
      case 1:
        o.setUint8(s, n.byteLength);
        break;
      case 2:
        o.setUint16(s, n.byteLength, !1);
        break;
      case 3:
        gr(o, s, n.byteLength, !1);
        break;
      case 4:
        o.setUint32(s, n.byteLength, !1);
        break;
    }
    ((s += e), i.set(n, s), (s += n.byteLength));
  }
  return i;
};
var zr = (t) => {
    try {
      let e = [],
        r = [],
        i = [];
      for (let a of Ct(t)) {
        let c = t.subarray(a.offset, a.offset + a.length),
          l = Ui(c[0]);
        l === it.SPS ? e.push(c) : l === it.PPS ? r.push(c) : l === it.SPS_EXT && i.push(c);
      }
      if (e.length === 0 || r.length === 0) return null;
      let s = e[0],
        n = Vi(s);
      f(n !== null);
      let o = n.profileIdc === 100 || n.profileIdc === 110 || n.profileIdc === 122 || n.profileIdc === 144;
      return {
        configurationVersion: 1,
        avcProfileIndication: n.profileIdc,
        profileCompatibility: n.constraintFlags,
        avcLevelIndication: n.levelIdc,
        lengthSizeMinusOne: 3,
        sequenceParameterSets: e,
        pictureParameterSets: r,
        chromaFormat: o ? n.chromaFormatIdc : null,
        bitDepthLumaMinus8: o ? n.bitDepthLumaMinus8 : null,
        bitDepthChromaMinus8: o ? n.bitDepthChromaMinus8 : null,
        sequenceParameterSetExt: o ? i : null,
      };
    } catch (e) {
      return (F._error("Error building AVC Decoder Configuration Record:", e), null);
    }
  },
  Dr = (t) => {
    let e = [];
    (e.push(t.configurationVersion),
      e.push(t.avcProfileIndication),
      e.push(t.profileCompatibility),
      e.push(t.avcLevelIndication),
      e.push(252 | (t.lengthSizeMinusOne & 3)),
      e.push(224 | (t.sequenceParameterSets.length & 31)));
    for (let r of t.sequenceParameterSets) {
      let i = r.byteLength;
      (e.push(i >> 8), e.push(i & 255));
      for (let s = 0; s < i; s++) e.push(r[s]);
    }
    e.push(t.pictureParameterSets.length);
    for (let r of t.pictureParameterSets) {
      let i = r.byteLength;
      (e.push(i >> 8), e.push(i & 255));
      for (let s = 0; s < i; s++) e.push(r[s]);
    }
    if (
      (t.avcProfileIndication === 100 ||
        t.avcProfileIndication === 110 ||
        t.avcProfileIndication === 122 ||
        t.avcProfileIndication === 144) &&
      t.chromaFormat !== null
    ) {
      (f(t.bitDepthLumaMinus8 !== null),
        f(t.bitDepthChromaMinus8 !== null),
        f(t.sequenceParameterSetExt !== null),
        e.push(252 | (t.chromaFormat & 3)),
        e.push(248 | (t.bitDepthLumaMinus8 & 7)),
        e.push(248 | (t.bitDepthChromaMinus8 & 7)),
        e.push(t.sequenceParameterSetExt.length));
      for (let r of t.sequenceParameterSetExt) {
        let i = r.byteLength;
        (e.push(i >> 8), e.push(i & 255));
        for (let s = 0; s < i; s++) e.push(r[s]);
      }
    }
    return new Uint8Array(e);
  };
var Wr = {
    1: { num: 1, den: 1 },
    2: { num: 12, den: 11 },
    3: { num: 10, den: 11 },
    4: { num: 16, den: 11 },
    5: { num: 40, den: 33 },
    6: { num: 24, den: 11 },
    7: { num: 20, den: 11 },
    8: { num: 32, den: 11 },
    9: { num: 80, den: 33 },
    10: { num: 18, den: 11 },
    11: { num: 15, den: 11 },
    12: { num: 64, den: 33 },
    13: { num: 160, den: 99 },
    14: { num: 4, den: 3 },
    15: { num: 3, den: 2 },
    16: { num: 2, den: 1 },
  },
  Vi = (t) => {
    try {
      let e = Gt(t),
        r = new k(e);
      if ((r.skipBits(1), r.skipBits(2), r.readBits(5) !== 7)) return null;
      let s = r.readAlignedByte(),
        n = r.readAlignedByte(),
        o = r.readAlignedByte();
      p(r);
      let a = 1,
        c = 0,
        l = 0,
        u = 0;
      if (
        (s === 100 ||
          s === 110 ||
          s === 122 ||
          s === 244 ||
          s === 44 ||
          s === 83 ||
          s === 86 ||
          s === 118 ||
          s === 128) &&
        ((a = p(r)), a === 3 && (u = r.readBits(1)), (c = p(r)), (l = p(r)), r.skipBits(1), r.readBits(1))
      ) {
        for (let R = 0; R < (a !== 3 ? 8 : 12); R++)
          if (r.readBits(1)) {
            let oe = R < 6 ? 16 : 64,
              Q = 8,
              M = 8;
            for (let ue = 0; ue < oe; ue++) {
              if (M !== 0) {
                let Ae = G(r);
                M = (Q + Ae + 256) % 256;
              }
              Q = M === 0 ? Q : M;
            }
          }
      }
      p(r);
      let h = p(r);
      if (h === 0) p(r);
      else if (h === 1) {
        (r.skipBits(1), G(r), G(r));
        let se = p(r);
        for (let R = 0; R < se; R++) G(r);
      }
      (p(r), r.skipBits(1));
      let y = p(r),
        A = p(r),
        b = 16 * (y + 1),
        C = 16 * (A + 1),
        v = b,
        P = C,
        re = r.readBits(1);
      if ((re || r.skipBits(1), r.skipBits(1), r.readBits(1))) {
        let se = p(r),
          R = p(r),
          ne = p(r),
          oe = p(r),
          Q,
          M;
        if ((u === 0 ? a : 0) === 0) ((Q = 1), (M = 2 - re));
        else {
          let Ae = a === 3 ? 1 : 2,
            mt = a === 1 ? 2 : 1;
          ((Q = Ae), (M = mt * (2 - re)));
        }
        ((v -= Q * (se + R)), (P -= M * (ne + oe)));
      }
      let Ke = 2,
        ft = 2,
        Xe = 2,
        Ze = 0,
        Be = { num: 1, den: 1 },
        le = null,
        ie = null,
        Ye = null,
        I = null,
        Pe = r.pos;
      if (r.readBits(1)) {
        if (r.readBits(1)) {
          let Ae = r.readBits(8);
          if (Ae === 255) Be = { num: r.readBits(16), den: r.readBits(16) };
          else {
            let mt = Wr[Ae];
            mt && (Be = mt);
          }
        }
        (r.readBits(1) && r.skipBits(1),
          r.readBits(1) &&
            (r.skipBits(3),
            (Ze = r.readBits(1)),
            r.readBits(1) && ((Ke = r.readBits(8)), (ft = r.readBits(8)), (Xe = r.readBits(8)))),
          r.readBits(1) && (p(r), p(r)),
          r.readBits(1) && (r.skipBits(32), r.skipBits(32), r.skipBits(1)));
        let M = r.readBits(1);
        M && Br(r);
        let ue = r.readBits(1);
        (ue && Br(r),
          (M || ue) && r.skipBits(1),
          r.skipBits(1),
          (Ye = r.pos),
          (I = r.readBits(1)),
          I && (r.skipBits(1), p(r), p(r), p(r), p(r), (le = p(r)), (ie = p(r))));
      }
      if (le === null) {
        f(ie === null);
        let se = n & 16;
        if ((s === 44 || s === 86 || s === 100 || s === 110 || s === 122 || s === 244) && se) ((le = 0), (ie = 0));
        else {
          let R = y + 1,
            ne = A + 1,
            oe = (2 - re) * ne,
            Q = $t.find((ue) => ue.level >= o) ?? j($t),
            M = Math.min(Math.floor(Q.maxDpbMbs / (R * oe)), 16);
          ((le = M), (ie = M));
        }
      }
      return (
        f(ie !== null),
        {
          emulationUnpreventedBytes: e,
          profileIdc: s,
          constraintFlags: n,
          levelIdc: o,
          frameMbsOnlyFlag: re,
          chromaFormatIdc: a,
          bitDepthLumaMinus8: c,
          bitDepthChromaMinus8: l,
          codedWidth: b,
          codedHeight: C,
          displayWidth: v,
          displayHeight: P,
          pixelAspectRatio: Be,
          colourPrimaries: Ke,
          matrixCoefficients: Xe,
          transferCharacteristics: ft,
          fullRangeFlag: Ze,
          numReorderFrames: le,
          maxDecFrameBuffering: ie,
          vuiParametersFlagBitOffset: Pe,
          bitstreamRestrictionFlagBitOffset: Ye,
          bitstreamRestrictionFlag: I,
        }
      );
    } catch (e) {
      return (F._error("Error parsing AVC SPS:", e), null);
    }
  },
  Br = (t) => {
    let e = p(t);
    (t.skipBits(4), t.skipBits(4));
    for (let r = 0; r <= e; r++) (p(t), p(t), t.skipBits(1));
    (t.skipBits(5), t.skipBits(5), t.skipBits(5), t.skipBits(5));
  };
var Pr = (t) => (t >> 1) & 63,
  zi = (t) => {
    try {
      let e = new k(Gt(t));
      (e.skipBits(16), e.readBits(4));
      let r = e.readBits(3),
        i = e.readBits(1),
        {
          general_profile_space: s,
          general_tier_flag: n,
          general_profile_idc: o,
          general_profile_compatibility_flags: a,
          general_constraint_indicator_flags: c,
          general_level_idc: l,
        } = Di(e, r);
      p(e);
      let u = p(e),
        h = 0;
      u === 3 && (h = e.readBits(1));
      let y = p(e),
        A = p(e),
        b = y,
        C = A;
      if (e.readBits(1)) {
        let I = p(e),
          Pe = p(e),
          lr = p(e),
          se = p(e),
          R = 1,
          ne = 1,
          oe = h === 0 ? u : 0;
        (oe === 1 ? ((R = 2), (ne = 2)) : oe === 2 && ((R = 2), (ne = 1)), (b -= (I + Pe) * R), (C -= (lr + se) * ne));
      }
      let v = p(e),
        P = p(e);
      p(e);
      let Wt = e.readBits(1) ? 0 : r,
        Ke = 0;
      for (let I = Wt; I <= r; I++) (p(e), (Ke = p(e)), p(e));
      (p(e),
        p(e),
        p(e),
        p(e),
        p(e),
        p(e),
        e.readBits(1) && e.readBits(1) && Wi(e),
        e.skipBits(1),
        e.skipBits(1),
        e.readBits(1) && (e.skipBits(4), e.skipBits(4), p(e), p(e), e.skipBits(1)));
      let ft = p(e);
      if ((Ni(e, ft), e.readBits(1))) {
        let I = p(e);
        for (let Pe = 0; Pe < I; Pe++) (p(e), e.skipBits(1));
      }
      (e.skipBits(1), e.skipBits(1));
      let Xe = 2,
        Ze = 2,
        Be = 2,
        le = 0,
        ie = 0,
        Ye = { num: 1, den: 1 };
      if (e.readBits(1)) {
        let I = Hi(e, r);
        ((Ye = I.pixelAspectRatio),
          (Xe = I.colourPrimaries),
          (Ze = I.transferCharacteristics),
          (Be = I.matrixCoefficients),
          (le = I.fullRangeFlag),
          (ie = I.minSpatialSegmentationIdc));
      }
      return {
        displayWidth: b,
        displayHeight: C,
        pixelAspectRatio: Ye,
        colourPrimaries: Xe,
        transferCharacteristics: Ze,
        matrixCoefficients: Be,
        fullRangeFlag: le,
        maxDecFrameBuffering: Ke + 1,
        spsMaxSubLayersMinus1: r,
        spsTemporalIdNestingFlag: i,
        generalProfileSpace: s,
        generalTierFlag: n,
        generalProfileIdc: o,
        generalProfileCompatibilityFlags: a,
        generalConstraintIndicatorFlags: c,
        generalLevelIdc: l,
        chromaFormatIdc: u,
        bitDepthLumaMinus8: v,
        bitDepthChromaMinus8: P,
        minSpatialSegmentationIdc: ie,
      };
    } catch (e) {
      return (F._error("Error parsing HEVC SPS:", e), null);
    }
  },
  Nr = (t) => {
    try {
      let e = [],
        r = [],
        i = [],
        s = [];
      for (let l of Ct(t)) {
        let u = t.subarray(l.offset, l.offset + l.length),
          h = Pr(u[0]);
        h === Z.VPS_NUT
          ? e.push(u)
          : h === Z.SPS_NUT
            ? r.push(u)
            : h === Z.PPS_NUT
              ? i.push(u)
              : (h === Z.PREFIX_SEI_NUT || h === Z.SUFFIX_SEI_NUT) && s.push(u);
      }
      if (r.length === 0 || i.length === 0) return null;
      let n = zi(r[0]);
      if (!n) return null;
      let o = 0;
      if (i.length > 0) {
        let l = i[0],
          u = new k(Gt(l));
        (u.skipBits(16),
          p(u),
          p(u),
          u.skipBits(1),
          u.skipBits(1),
          u.skipBits(3),
          u.skipBits(1),
          u.skipBits(1),
          p(u),
          p(u),
          G(u),
          u.skipBits(1),
          u.skipBits(1),
          u.readBits(1) && p(u),
          G(u),
          G(u),
          u.skipBits(1),
          u.skipBits(1),
          u.skipBits(1),
          u.skipBits(1));
        let h = u.readBits(1),
          y = u.readBits(1);
        !h && !y ? (o = 0) : h && !y ? (o = 2) : !h && y ? (o = 3) : (o = 0);
      }
      let a = [
        ...(e.length ? [{ arrayCompleteness: 1, nalUnitType: Z.VPS_NUT, nalUnits: e }] : []),
        ...(r.length ? [{ arrayCompleteness: 1, nalUnitType: Z.SPS_NUT, nalUnits: r }] : []),
        ...(i.length ? [{ arrayCompleteness: 1, nalUnitType: Z.PPS_NUT, nalUnits: i }] : []),
        ...(s.length ? [{ arrayCompleteness: 1, nalUnitType: Pr(s[0][0]), nalUnits: s }] : []),
      ];
      return {
        configurationVersion: 1,
        generalProfileSpace: n.generalProfileSpace,
        generalTierFlag: n.generalTierFlag,
        generalProfileIdc: n.generalProfileIdc,
        generalProfileCompatibilityFlags: n.generalProfileCompatibilityFlags,
        generalConstraintIndicatorFlags: n.generalConstraintIndicatorFlags,
        generalLevelIdc: n.generalLevelIdc,
        minSpatialSegmentationIdc: n.minSpatialSegmentationIdc,
        parallelismType: o,
        chromaFormatIdc: n.chromaFormatIdc,
        bitDepthLumaMinus8: n.bitDepthLumaMinus8,
        bitDepthChromaMinus8: n.bitDepthChromaMinus8,
        avgFrameRate: 0,
        constantFrameRate: 0,
        numTemporalLayers: n.spsMaxSubLayersMinus1 + 1,
        temporalIdNested: n.spsTemporalIdNestingFlag,
        lengthSizeMinusOne: 3,
        arrays: a,
      };
    } catch (e) {
      return (F._error("Error building HEVC Decoder Configuration Record:", e), null);
    }
  },
  Di = (t, e) => {
    let r = t.readBits(2),
      i = t.readBits(1),
      s = t.readBits(5),
      n = 0;
    for (let u = 0; u < 32; u++) n = (n << 1) | t.readBits(1);
    let o = new Uint8Array(6);
    for (let u = 0; u < 6; u++) o[u] = t.readBits(8);
    let a = t.readBits(8),
      c = [],
      l = [];
    for (let u = 0; u < e; u++) (c.push(t.readBits(1)), l.push(t.readBits(1)));
    if (e > 0) for (let u = e; u < 8; u++) t.skipBits(2);
    for (let u = 0; u < e; u++) (c[u] && t.skipBits(88), l[u] && t.skipBits(8));
    return {
      general_profile_space: r,
      general_tier_flag: i,
      general_profile_idc: s,
      general_profile_compatibility_flags: n,
      general_constraint_indicator_flags: o,
      general_level_idc: a,
    };
  },
  Wi = (t) => {
    for (let e = 0; e < 4; e++)
      for (let r = 0; r < (e === 3 ? 2 : 6); r++)
        if (!t.readBits(1)) p(t);
        else {
          let s = Math.min(64, 1 << (4 + (e << 1)));
          e > 1 && G(t);
          for (let n = 0; n < s; n++) G(t);
        }
  },
  Ni = (t, e) => {
    let r = [];
    for (let i = 0; i < e; i++) r[i] = Li(t, i, e, r);
  },
  Li = (t, e, r, i) => {
    let s = 0,
      n = 0,
      o = 0;
    if ((e !== 0 && (n = t.readBits(1)), n)) {
      if (e === r) {
        let c = p(t);
        o = e - (c + 1);
      } else o = e - 1;
      (t.readBits(1), p(t));
      let a = i[o] ?? 0;
      for (let c = 0; c <= a; c++) t.readBits(1) || t.readBits(1);
      s = i[o];
    } else {
      let a = p(t),
        c = p(t);
      for (let l = 0; l < a; l++) (p(t), t.readBits(1));
      for (let l = 0; l < c; l++) (p(t), t.readBits(1));
      s = a + c;
    }
    return s;
  },
  Hi = (t, e) => {
    let r = 2,
      i = 2,
      s = 2,
      n = 0,
      o = 0,
      a = { num: 1, den: 1 };
    if (t.readBits(1)) {
      let c = t.readBits(8);
      if (c === 255) a = { num: t.readBits(16), den: t.readBits(16) };
      else {
        let l = Wr[c];
        l && (a = l);
      }
    }
    return (
      t.readBits(1) && t.readBits(1),
      t.readBits(1) &&
        (t.readBits(3),
        (n = t.readBits(1)),
        t.readBits(1) && ((r = t.readBits(8)), (i = t.readBits(8)), (s = t.readBits(8)))),
      t.readBits(1) && (p(t), p(t)),
      t.readBits(1),
      t.readBits(1),
      t.readBits(1),
      t.readBits(1) && (p(t), p(t), p(t), p(t)),
      t.readBits(1) && (t.readBits(32), t.readBits(32), t.readBits(1) && p(t), t.readBits(1) && qi(t, !0, e)),
      t.readBits(1) && (t.readBits(1), t.readBits(1), t.readBits(1), (o = p(t)), p(t), p(t), p(t), p(t)),
      {
        pixelAspectRatio: a,
        colourPrimaries: r,
        transferCharacteristics: i,
        matrixCoefficients: s,
        fullRangeFlag: n,
        minSpatialSegmentationIdc: o,
      }
    );
  },
  qi = (t, e, r) => {
    let i = !1,
      s = !1,
      n = !1;
    e &&
      ((i = t.readBits(1) === 1),
      (s = t.readBits(1) === 1),
      (i || s) &&
        ((n = t.readBits(1) === 1),
        n && (t.readBits(8), t.readBits(5), t.readBits(1), t.readBits(5)),
        t.readBits(4),
        t.readBits(4),
        n && t.readBits(4),
        t.readBits(5),
        t.readBits(5),
        t.readBits(5)));
    for (let o = 0; o <= r; o++) {
      let a = t.readBits(1) === 1,
        c = !0;
      a || (c = t.readBits(1) === 1);
      let l = !1;
      c ? p(t) : (l = t.readBits(1) === 1);
      let u = 1;
      (l || (u = p(t) + 1), i && Ir(t, u, n), s && Ir(t, u, n));
    }
  },
  Ir = (t, e, r) => {
    for (let i = 0; i < e; i++) (p(t), p(t), r && (p(t), p(t)), t.readBits(1));
  },
  Lr = (t) => {
    let e = [];
    (e.push(t.configurationVersion),
      e.push(((t.generalProfileSpace & 3) << 6) | ((t.generalTierFlag & 1) << 5) | (t.generalProfileIdc & 31)),
      e.push((t.generalProfileCompatibilityFlags >>> 24) & 255),
      e.push((t.generalProfileCompatibilityFlags >>> 16) & 255),
      e.push((t.generalProfileCompatibilityFlags >>> 8) & 255),
      e.push(t.generalProfileCompatibilityFlags & 255),
      e.push(...t.generalConstraintIndicatorFlags),
      e.push(t.generalLevelIdc & 255),
      e.push(240 | ((t.minSpatialSegmentationIdc >> 8) & 15)),
      e.push(t.minSpatialSegmentationIdc & 255),
      e.push(252 | (t.parallelismType & 3)),
      e.push(252 | (t.chromaFormatIdc & 3)),
      e.push(248 | (t.bitDepthLumaMinus8 & 7)),
      e.push(248 | (t.bitDepthChromaMinus8 & 7)),
      e.push((t.avgFrameRate >> 8) & 255),
      e.push(t.avgFrameRate & 255),
      e.push(
        ((t.constantFrameRate & 3) << 6) |
          ((t.numTemporalLayers & 7) << 3) |
          ((t.temporalIdNested & 1) << 2) |
          (t.lengthSizeMinusOne & 3),
      ),
      e.push(t.arrays.length & 255));
    for (let r of t.arrays) {
      (e.push(((r.arrayCompleteness & 1) << 7) | 0 | (r.nalUnitType & 63)),
        e.push((r.nalUnits.length >> 8) & 255),
        e.push(r.nalUnits.length & 255));
      for (let i of r.nalUnits) {
        (e.push((i.length >> 8) & 255), e.push(i.length & 255));
        for (let s = 0; s < i.length; s++) e.push(i[s]);
      }
    }
    return new Uint8Array(e);
  };
var Fr;
(function (t) {
  ((t[(t.audAllowed = 0)] = "audAllowed"),
    (t[(t.beforeFirstVcl = 1)] = "beforeFirstVcl"),
    (t[(t.afterFirstVcl = 2)] = "afterFirstVcl"),
    (t[(t.eoBitstreamAllowed = 3)] = "eoBitstreamAllowed"),
    (t[(t.noMoreDataAllowed = 4)] = "noMoreDataAllowed"));
})(Fr || (Fr = {}));
var St = (t) => {
  let e = we(t),
    r = e.getUint8(9),
    i = e.getUint16(10, !0),
    s = e.getUint32(12, !0),
    n = e.getInt16(16, !0),
    o = e.getUint8(18),
    a = null;
  return (
    o && (a = t.subarray(19, 21 + r)),
    {
      outputChannelCount: r,
      preSkip: i,
      inputSampleRate: s,
      outputGain: n,
      channelMappingFamily: o,
      channelMappingTable: a,
    }
  );
};
var Rr;
(function (t) {
  ((t[(t.STREAMINFO = 0)] = "STREAMINFO"),
    (t[(t.VORBIS_COMMENT = 4)] = "VORBIS_COMMENT"),
    (t[(t.PICTURE = 6)] = "PICTURE"));
})(Rr || (Rr = {}));
var Hr = (t) => {
    if (t.length < 7 || t[0] !== 11 || t[1] !== 119) return null;
    let e = new k(t);
    (e.skipBits(16), e.skipBits(16));
    let r = e.readBits(2);
    if (r === 3) return null;
    let i = e.readBits(6),
      s = e.readBits(5);
    if (s > 8) return null;
    let n = e.readBits(3),
      o = e.readBits(3);
    ((o & 1) !== 0 && o !== 1 && e.skipBits(2), (o & 4) !== 0 && e.skipBits(2), o === 2 && e.skipBits(2));
    let a = e.readBits(1),
      c = Math.floor(i / 2);
    return { fscod: r, bsid: s, bsmod: n, acmod: o, lfeon: a, bitRateCode: c };
  },
  Yn = [
    128,
    138,
    192,
    128,
    140,
    192,
    160,
    174,
    240,
    160,
    176,
    240,
    192,
    208,
    288,
    192,
    210,
    288,
    224,
    242,
    336,
    224,
    244,
    336,
    256,
    278,
    384,
    256,
    280,
    384,
    320,
    348,
    480,
    320,
    350,
    480,
    384,
    416,
    288 * 2,
    384,
    418,
    288 * 2,
    448,
    486,
    336 * 2,
    448,
    488,
    336 * 2,
    256 * 2,
    278 * 2,
    384 * 2,
    256 * 2,
    279 * 2,
    384 * 2,
    320 * 2,
    348 * 2,
    480 * 2,
    320 * 2,
    349 * 2,
    480 * 2,
    384 * 2,
    417 * 2,
    576 * 2,
    384 * 2,
    418 * 2,
    576 * 2,
    448 * 2,
    487 * 2,
    672 * 2,
    448 * 2,
    488 * 2,
    672 * 2,
    512 * 2,
    557 * 2,
    768 * 2,
    512 * 2,
    558 * 2,
    768 * 2,
    640 * 2,
    696 * 2,
    960 * 2,
    640 * 2,
    697 * 2,
    960 * 2,
    768 * 2,
    835 * 2,
    1152 * 2,
    768 * 2,
    836 * 2,
    1152 * 2,
    896 * 2,
    975 * 2,
    1344 * 2,
    896 * 2,
    976 * 2,
    1344 * 2,
    1024 * 2,
    1114 * 2,
    1536 * 2,
    1024 * 2,
    1115 * 2,
    1536 * 2,
    1152 * 2,
    1253 * 2,
    1728 * 2,
    1152 * 2,
    1254 * 2,
    1728 * 2,
    1280 * 2,
    1393 * 2,
    1920 * 2,
    1280 * 2,
    1394 * 2,
    1920 * 2,
  ];
var Jn = new Uint8Array([5, 4, 65, 67, 45, 51]),
  eo = new Uint8Array([5, 4, 69, 65, 67, 51]),
  Qi = [1, 2, 3, 6],
  qr = (t) => {
    if (t.length < 6 || t[0] !== 11 || t[1] !== 119) return null;
    let e = new k(t);
    e.skipBits(16);
    let r = e.readBits(2);
    if ((e.skipBits(3), r !== 0 && r !== 2)) return null;
    let i = e.readBits(11),
      s = e.readBits(2),
      n = 0,
      o;
    s === 3 ? ((n = e.readBits(2)), (o = 3)) : (o = e.readBits(2));
    let a = e.readBits(3),
      c = e.readBits(1),
      l = e.readBits(5);
    if (l < 11 || l > 16) return null;
    let u = Qi[o],
      h;
    return (
      s < 3 ? (h = kr[s] / 1e3) : (h = vr[n] / 1e3),
      {
        dataRate: Math.round(((i + 1) * h) / (u * 16)),
        substreams: [{ fscod: s, fscod2: n, bsid: l, bsmod: 0, acmod: a, lfeon: c, numDepSub: 0, chanLoc: 0 }],
      }
    );
  };
var ji = 1683496997,
  $i = 18,
  Gi = 10;
var Mr = 32,
  Ki = 20,
  Xi = 8,
  Zi = [0, 8e3, 16e3, 32e3, 0, 0, 11025, 22050, 44100, 0, 0, 12e3, 24e3, 48e3, 96e3, 192e3],
  Yi = [
    32e3, 56e3, 64e3, 96e3, 112e3, 128e3, 192e3, 224e3, 256e3, 32e4, 384e3, 448e3, 512e3, 576e3, 64e4, 768e3, 96e4,
    1024e3, 1152e3, 128e4, 1344e3, 1408e3, 1411200, 1472e3, 1536e3, 192e4, 2048e3, 3072e3, 384e4, 0, 0, 0,
  ],
  Ji = [16, 16, 20, 20, 0, 24, 24, 0],
  Or = [1, 2, 2, 2, 2, 3, 3, 4, 4, 5, 6, 6, 6, 7, 8, 8],
  es = [1, 2, 2, 2, 2, 3, 18, 19, 6, 7, 518, 323, 83, 519, 582, 535],
  ts = 8;
var rs = [32e3, 44100, 48e3, 0],
  is = [8e3, 16e3, 32e3, 64e3, 128e3, 22050, 44100, 88200, 176400, 352800, 12e3, 24e3, 48e3, 96e3, 192e3, 384e3],
  ss = [512, 1024, 2048, 4096],
  Qr = (t) => {
    let e = ns(t),
      r = we(t),
      i = e ? Math.ceil(e.frameSize / 4) * 4 : 0,
      s = null;
    for (; i + 4 <= t.length && r.getUint32(i) === ji;) {
      let o = os(t.subarray(i));
      if (!o) break;
      ((s ??= o), (i += o.frameSize));
    }
    if (e)
      return {
        frameSize: s ? i : e.frameSize,
        sampleRate: e.sampleRate,
        numberOfChannels: e.numberOfChannels,
        sampleCount: e.sampleCount,
        channelLayout: e.channelLayout,
        pcmResolution: e.pcmResolution,
        bitRate: e.bitRate,
        core: e,
        hasExtensions: s !== null,
      };
    if (!s?.asset) return null;
    let { asset: n } = s;
    return {
      frameSize: i,
      sampleRate: n.sampleRate,
      numberOfChannels: n.numberOfChannels,
      sampleCount: n.sampleCount,
      channelLayout: n.channelLayout,
      pcmResolution: n.pcmResolution,
      bitRate: 0,
      core: null,
      hasExtensions: !0,
    };
  };
var ns = (t) => {
    if (t.length < $i || t[0] !== 127 || t[1] !== 254 || t[2] !== 128 || t[3] !== 1) return null;
    let e = new k(t);
    if ((e.skipBits(32), e.skipBits(1), e.readBits(5) !== Mr - 1)) return null;
    let r = e.readBits(1),
      i = e.readBits(7) + 1;
    if (i % Xi !== 0) return null;
    let s = e.readBits(14) + 1;
    if (s < 96) return null;
    let n = e.readBits(6);
    if (n >= Or.length) return null;
    let o = Zi[e.readBits(4)];
    if (o === 0) return null;
    let a = Yi[e.readBits(5)];
    if (e.readBits(1) !== 0) return null;
    (e.skipBits(4), e.skipBits(5));
    let c = e.readBits(2);
    if (c === 3) return null;
    (e.skipBits(1), r && e.skipBits(16), e.skipBits(7));
    let l = Ji[e.readBits(3)];
    if (l === 0) return null;
    let u = c !== 0;
    return {
      frameSize: s,
      sampleRate: o,
      numberOfChannels: Or[n] + (u ? 1 : 0),
      sampleCount: i * Mr,
      channelLayout: es[n] | (u ? ts : 0),
      amode: n,
      lfePresent: u,
      bitRate: a,
      pcmResolution: l,
    };
  },
  os = (t) => {
    if (t.length < Gi || t[0] !== 100 || t[1] !== 88 || t[2] !== 32 || t[3] !== 37) return null;
    let e = new k(t);
    (e.skipBits(32), e.skipBits(8));
    let r = e.readBits(2),
      i = e.readBits(1),
      s = 8 + 4 * i,
      n = 16 + 4 * i;
    e.skipBits(s);
    let o = e.readBits(n) + 1,
      a = { frameSize: o, asset: null };
    if (!e.readBits(1)) return a;
    let c = rs[e.readBits(2)],
      l = 512 * (e.readBits(3) + 1);
    e.readBits(1) && e.skipBits(36);
    let u = e.readBits(3) + 1,
      h = e.readBits(3) + 1,
      y = [];
    for (let P = 0; P < u; P++) y.push(e.readBits(r + 1));
    for (let P of y) e.skipBits(8 * Ar(P));
    if (e.readBits(1)) {
      e.skipBits(2);
      let P = (e.readBits(2) + 1) << 2,
        re = e.readBits(2) + 1;
      e.skipBits(re * P);
    }
    for (let P = 0; P < h; P++) e.skipBits(n);
    (e.skipBits(9),
      e.skipBits(3),
      e.readBits(1) && e.skipBits(4),
      e.readBits(1) && e.skipBits(24),
      e.readBits(1) && e.skipBits(8 * (e.readBits(10) + 1)));
    let A = e.readBits(5) + 1,
      b = is[e.readBits(4)],
      C = e.readBits(8) + 1,
      v = 0;
    if (e.readBits(1) && (C > 2 && e.skipBits(1), C > 6 && e.skipBits(1), e.readBits(1))) {
      let P = (e.readBits(2) + 1) << 2;
      v = e.readBits(P);
    }
    return c === 0 || e.getBitsLeft() < 0
      ? a
      : {
          frameSize: o,
          asset: {
            sampleRate: b,
            numberOfChannels: C,
            sampleCount: Math.round((l * b) / c),
            channelLayout: v,
            pcmResolution: A,
          },
        };
  };
var jr = (t) => {
  let e = new Uint8Array(Ki),
    r = we(e);
  (r.setUint32(0, t.sampleRate), r.setUint32(4, t.bitRate), r.setUint32(8, t.bitRate), (e[12] = t.pcmResolution));
  let i = t.core && !t.hasExtensions ? 1 : 0,
    s = new k(e);
  return (
    s.seekToByte(13),
    s.writeBits(2, Math.max(ss.indexOf(t.sampleCount), 0)),
    s.writeBits(5, i),
    s.writeBits(1, t.core?.lfePresent ? 1 : 0),
    s.writeBits(6, t.core?.amode ?? 0),
    s.writeBits(14, t.core ? t.core.frameSize - 1 : 0),
    s.writeBits(1, 0),
    s.writeBits(3, 0),
    s.writeBits(16, t.channelLayout),
    s.writeBits(1, 0),
    s.writeBits(1, 0),
    s.writeBits(1, 0),
    s.writeBits(5, 0),
    e
  );
};
var Y = ["avc", "hevc", "vp9", "av1", "vp8", "prores"],
  U = [
    "pcm-s16",
    "pcm-s16be",
    "pcm-s24",
    "pcm-s24be",
    "pcm-s32",
    "pcm-s32be",
    "pcm-f32",
    "pcm-f32be",
    "pcm-f64",
    "pcm-f64be",
    "pcm-u8",
    "pcm-s8",
    "ulaw",
    "alaw",
  ],
  nt = ["aac", "opus", "mp3", "vorbis", "flac", "ac3", "eac3", "dts"],
  Ce = [...nt, ...U],
  ae = ["webvtt"],
  $t = [
    { maxMacroblocks: 99, maxBitrate: 64e3, maxDpbMbs: 396, level: 10 },
    { maxMacroblocks: 396, maxBitrate: 192e3, maxDpbMbs: 900, level: 11 },
    { maxMacroblocks: 396, maxBitrate: 384e3, maxDpbMbs: 2376, level: 12 },
    { maxMacroblocks: 396, maxBitrate: 768e3, maxDpbMbs: 2376, level: 13 },
    { maxMacroblocks: 396, maxBitrate: 2e6, maxDpbMbs: 2376, level: 20 },
    { maxMacroblocks: 792, maxBitrate: 4e6, maxDpbMbs: 4752, level: 21 },
    { maxMacroblocks: 1620, maxBitrate: 4e6, maxDpbMbs: 8100, level: 22 },
    { maxMacroblocks: 1620, maxBitrate: 1e7, maxDpbMbs: 8100, level: 30 },
    { maxMacroblocks: 3600, maxBitrate: 14e6, maxDpbMbs: 18e3, level: 31 },
    { maxMacroblocks: 5120, maxBitrate: 2e7, maxDpbMbs: 20480, level: 32 },
    { maxMacroblocks: 8192, maxBitrate: 2e7, maxDpbMbs: 32768, level: 40 },
    { maxMacroblocks: 8192, maxBitrate: 5e7, maxDpbMbs: 32768, level: 41 },
    { maxMacroblocks: 8704, maxBitrate: 5e7, maxDpbMbs: 34816, level: 42 },
    { maxMacroblocks: 22080, maxBitrate: 135e6, maxDpbMbs: 110400, level: 50 },
    { maxMacroblocks: 36864, maxBitrate: 24e7, maxDpbMbs: 184320, level: 51 },
    { maxMacroblocks: 36864, maxBitrate: 24e7, maxDpbMbs: 184320, level: 52 },
    { maxMacroblocks: 139264, maxBitrate: 24e7, maxDpbMbs: 696320, level: 60 },
    { maxMacroblocks: 139264, maxBitrate: 48e7, maxDpbMbs: 696320, level: 61 },
    { maxMacroblocks: 139264, maxBitrate: 8e8, maxDpbMbs: 696320, level: 62 },
  ];
var st = ["ap4x", "ap4h", "apch", "apcn", "apcs", "apco"],
  Kt = ["dtsc", "dtsh", "dtsl", "dtse"];
var $r = (t) => {
    let e = t.split("."),
      r = Number(e[1]),
      i = Number(e[2]),
      s = Number(e[3]),
      n = e[4] ? Number(e[4]) : 1;
    return [1, 1, r, 2, 1, i, 3, 1, s, 4, 1, n];
  },
  _t = (t) => {
    let e = t.split("."),
      s = (1 << 7) + 1,
      n = Number(e[1]),
      o = e[2],
      a = Number(o.slice(0, -1)),
      c = (n << 5) + a,
      l = o.slice(-1) === "H" ? 1 : 0,
      u = Number(e[3]),
      h = u === 8 ? 0 : 1,
      y = u === 12 ? 1 : 0,
      A = e[4] ? Number(e[4]) : 0,
      b = e[5] ? Number(e[5][0]) : 1,
      C = e[5] ? Number(e[5][1]) : 1,
      v = e[5] ? Number(e[5][2]) : 0,
      P = (l << 7) + (h << 6) + (y << 5) + (A << 4) + (b << 3) + (C << 2) + v;
    return [s, c, P, 0];
  };
var Gr = 48e3,
  Kr = /^pcm-([usf])(\d+)(be)?$/,
  N = (t) => {
    if ((f(U.includes(t)), t === "ulaw"))
      return { dataType: "ulaw", sampleSize: 1, littleEndian: !0, silentValue: 255 };
    if (t === "alaw") return { dataType: "alaw", sampleSize: 1, littleEndian: !0, silentValue: 213 };
    let e = Kr.exec(t);
    f(e);
    let r;
    e[1] === "u" ? (r = "unsigned") : e[1] === "s" ? (r = "signed") : (r = "float");
    let i = Number(e[2]) / 8,
      s = e[3] !== "be",
      n = t === "pcm-u8" ? 2 ** 7 : 0;
    return { dataType: r, sampleSize: i, littleEndian: s, silentValue: n };
  },
  Xr = (t) =>
    t.startsWith("avc1") || t.startsWith("avc3")
      ? "avc"
      : t.startsWith("hev1") || t.startsWith("hvc1")
        ? "hevc"
        : t === "vp8"
          ? "vp8"
          : t.startsWith("vp09")
            ? "vp9"
            : t.startsWith("av01")
              ? "av1"
              : st.includes(t)
                ? "prores"
                : t === "mp3" || t === "mp4a.69" || t === "mp4a.6B" || t === "mp4a.6b" || t === "mp4a.40.34"
                  ? "mp3"
                  : t.startsWith("mp4a.40.") || t === "mp4a.67"
                    ? "aac"
                    : t === "opus" || t === "Opus"
                      ? "opus"
                      : t === "vorbis"
                        ? "vorbis"
                        : t === "flac"
                          ? "flac"
                          : t === "ac-3" || t === "ac3"
                            ? "ac3"
                            : t === "ec-3" || t === "eac3"
                              ? "eac3"
                              : Kt.includes(t)
                                ? "dts"
                                : t === "ulaw"
                                  ? "ulaw"
                                  : t === "alaw"
                                    ? "alaw"
                                    : Kr.test(t)
                                      ? t
                                      : t === "webvtt"
                                        ? "webvtt"
                                        : null;
var as = ["avc1", "avc3", "hev1", "hvc1", "vp8", "vp09", "av01", ...st],
  cs = /^(avc1|avc3)\.[0-9a-fA-F]{6}$/,
  ls = /^(hev1|hvc1)\.(?:[ABC]?\d+)\.[0-9a-fA-F]{1,8}\.[LH]\d+(?:\.[0-9a-fA-F]{1,2}){0,6}$/,
  us = /^vp09(?:\.\d{2}){3}(?:(?:\.\d{2}){5})?$/,
  ds = /^av01\.\d\.\d{2}[MH]\.\d{2}(?:\.\d\.\d{3}\.\d{2}\.\d{2}\.\d{2}\.\d)?$/,
  Oe = (t, e) => {
    if (!t) throw new TypeError("Video chunk metadata must be provided.");
    if (typeof t != "object") throw new TypeError("Video chunk metadata must be an object.");
    if (!t.decoderConfig) throw new TypeError("Video chunk metadata must include a decoder configuration.");
    if (typeof t.decoderConfig != "object")
      throw new TypeError("Video chunk metadata decoder configuration must be an object.");
    if (typeof t.decoderConfig.codec != "string")
      throw new TypeError("Video chunk metadata decoder configuration must specify a codec string.");
    if (!as.some((r) => t.decoderConfig.codec.startsWith(r)))
      throw new TypeError(
        "Video chunk metadata decoder configuration codec string must be a valid video codec string as specified in the Mediabunny Codec Registry.",
      );
    if (!Number.isInteger(t.decoderConfig.codedWidth) || t.decoderConfig.codedWidth <= 0)
      throw new TypeError(
        "Video chunk metadata decoder configuration must specify a valid codedWidth (positive integer).",
      );
    if (!Number.isInteger(t.decoderConfig.codedHeight) || t.decoderConfig.codedHeight <= 0)
      throw new TypeError(
        "Video chunk metadata decoder configuration must specify a valid codedHeight (positive integer).",
      );
    if (
      t.decoderConfig.displayAspectWidth !== void 0 &&
      (!Number.isInteger(t.decoderConfig.displayAspectWidth) || t.decoderConfig.displayAspectWidth <= 0)
    )
      throw new TypeError(
        "Video chunk metadata decoder configuration displayAspectWidth, when defined, must be a positive integer.",
      );
    if (
      t.decoderConfig.displayAspectHeight !== void 0 &&
      (!Number.isInteger(t.decoderConfig.displayAspectHeight) || t.decoderConfig.displayAspectHeight <= 0)
    )
      throw new TypeError(
        "Video chunk metadata decoder configuration displayAspectHeight, when defined, must be a positive integer.",
      );
    if ((t.decoderConfig.displayAspectWidth !== void 0) != (t.decoderConfig.displayAspectHeight !== void 0))
      throw new TypeError(
        "Video chunk metadata decoder configuration must specify both displayAspectWidth and displayAspectHeight, or neither.",
      );
    if (t.decoderConfig.description !== void 0 && !Lt(t.decoderConfig.description))
      throw new TypeError(
        "Video chunk metadata decoder configuration description, when defined, must be an ArrayBuffer or an ArrayBuffer view.",
      );
    if (t.decoderConfig.colorSpace !== void 0) {
      let { colorSpace: r } = t.decoderConfig;
      if (typeof r != "object")
        throw new TypeError("Video chunk metadata decoder configuration colorSpace, when provided, must be an object.");
      let i = Object.keys(ye);
      if (r.primaries != null && !i.includes(r.primaries))
        throw new TypeError(
          `Video chunk metadata decoder configuration colorSpace primaries, when defined, must be one of ${i.join(", ")}.`,
        );
      let s = Object.keys(be);
      if (r.transfer != null && !s.includes(r.transfer))
        throw new TypeError(
          `Video chunk metadata decoder configuration colorSpace transfer, when defined, must be one of ${s.join(", ")}.`,
        );
      let n = Object.keys(xe);
      if (r.matrix != null && !n.includes(r.matrix))
        throw new TypeError(
          `Video chunk metadata decoder configuration colorSpace matrix, when defined, must be one of ${n.join(", ")}.`,
        );
      if (r.fullRange != null && typeof r.fullRange != "boolean")
        throw new TypeError(
          "Video chunk metadata decoder configuration colorSpace fullRange, when defined, must be a boolean.",
        );
    }
    if (t.decoderConfig.codec.startsWith("avc1") || t.decoderConfig.codec.startsWith("avc3")) {
      if (!cs.test(t.decoderConfig.codec))
        throw new TypeError(
          "Video chunk metadata decoder configuration codec string for AVC must be a valid AVC codec string as specified in Section 3.4 of RFC 6381.",
        );
    } else if (t.decoderConfig.codec.startsWith("hev1") || t.decoderConfig.codec.startsWith("hvc1")) {
      if (!ls.test(t.decoderConfig.codec))
        throw new TypeError(
          "Video chunk metadata decoder configuration codec string for HEVC must be a valid HEVC codec string as specified in Section E.3 of ISO 14496-15.",
        );
    } else if (t.decoderConfig.codec.startsWith("vp8")) {
      if (t.decoderConfig.codec !== "vp8")
        throw new TypeError('Video chunk metadata decoder configuration codec string for VP8 must be "vp8".');
    } else if (t.decoderConfig.codec.startsWith("vp09")) {
      if (!us.test(t.decoderConfig.codec))
        throw new TypeError(
          'Video chunk metadata decoder configuration codec string for VP9 must be a valid VP9 codec string as specified in Section "Codecs Parameter String" of https://www.webmproject.org/vp9/mp4/.',
        );
    } else if (t.decoderConfig.codec.startsWith("av01")) {
      if (!ds.test(t.decoderConfig.codec))
        throw new TypeError(
          'Video chunk metadata decoder configuration codec string for AV1 must be a valid AV1 codec string as specified in Section "Codecs Parameter String" of https://aomediacodec.github.io/av1-isobmff/.',
        );
    } else if (st.some((r) => t.decoderConfig.codec.startsWith(r)) && !st.some((r) => t.decoderConfig.codec === r))
      throw new TypeError(
        `Video chunk metadata decoder configuration codec string for ProRes must be one of the valid ProRes four-character codes: ${st.join(", ")}.`,
      );
    if (e !== null && Xr(t.decoderConfig.codec) !== e)
      throw new TypeError(
        `Video chunk metadata decoder configuration codec string '${t.decoderConfig.codec}' does not fit to the track codec '${e}'.`,
      );
  },
  fs = ["mp4a", "mp3", "opus", "vorbis", "flac", "ulaw", "alaw", "pcm", "ac-3", "ec-3", "dts"],
  Ue = (t, e) => {
    if (!t) throw new TypeError("Audio chunk metadata must be provided.");
    if (typeof t != "object") throw new TypeError("Audio chunk metadata must be an object.");
    if (!t.decoderConfig) throw new TypeError("Audio chunk metadata must include a decoder configuration.");
    if (typeof t.decoderConfig != "object")
      throw new TypeError("Audio chunk metadata decoder configuration must be an object.");
    if (typeof t.decoderConfig.codec != "string")
      throw new TypeError("Audio chunk metadata decoder configuration must specify a codec string.");
    if (!fs.some((r) => t.decoderConfig.codec.startsWith(r)))
      throw new TypeError(
        "Audio chunk metadata decoder configuration codec string must be a valid audio codec string as specified in the Mediabunny Codec Registry.",
      );
    if (!Number.isInteger(t.decoderConfig.sampleRate) || t.decoderConfig.sampleRate <= 0)
      throw new TypeError(
        "Audio chunk metadata decoder configuration must specify a valid sampleRate (positive integer).",
      );
    if (!Number.isInteger(t.decoderConfig.numberOfChannels) || t.decoderConfig.numberOfChannels <= 0)
      throw new TypeError(
        "Audio chunk metadata decoder configuration must specify a valid numberOfChannels (positive integer).",
      );
    if (t.decoderConfig.description !== void 0 && !Lt(t.decoderConfig.description))
      throw new TypeError(
        "Audio chunk metadata decoder configuration description, when defined, must be an ArrayBuffer or an ArrayBuffer view.",
      );
    if (
      t.decoderConfig.codec.startsWith("mp4a") &&
      t.decoderConfig.codec !== "mp4a.69" &&
      t.decoderConfig.codec !== "mp4a.6B" &&
      t.decoderConfig.codec !== "mp4a.6b"
    ) {
      if (
        !["mp4a.40.2", "mp4a.40.02", "mp4a.40.5", "mp4a.40.05", "mp4a.40.29", "mp4a.67"].includes(t.decoderConfig.codec)
      )
        throw new TypeError(
          "Audio chunk metadata decoder configuration codec string for AAC must be a valid AAC codec string as specified in https://www.w3.org/TR/webcodecs-aac-codec-registration/.",
        );
    } else if (t.decoderConfig.codec.startsWith("mp3") || t.decoderConfig.codec.startsWith("mp4a")) {
      if (
        t.decoderConfig.codec !== "mp3" &&
        t.decoderConfig.codec !== "mp4a.69" &&
        t.decoderConfig.codec !== "mp4a.6B" &&
        t.decoderConfig.codec !== "mp4a.6b"
      )
        throw new TypeError(
          'Audio chunk metadata decoder configuration codec string for MP3 must be "mp3", "mp4a.69" or "mp4a.6B".',
        );
    } else if (t.decoderConfig.codec.startsWith("opus")) {
      if (t.decoderConfig.codec !== "opus")
        throw new TypeError('Audio chunk metadata decoder configuration codec string for Opus must be "opus".');
      if (t.decoderConfig.description && t.decoderConfig.description.byteLength < 18)
        throw new TypeError(
          "Audio chunk metadata decoder configuration description, when specified, is expected to be an Identification Header as specified in Section 5.1 of RFC 7845.",
        );
    } else if (t.decoderConfig.codec.startsWith("vorbis")) {
      if (t.decoderConfig.codec !== "vorbis")
        throw new TypeError('Audio chunk metadata decoder configuration codec string for Vorbis must be "vorbis".');
      if (!t.decoderConfig.description)
        throw new TypeError(
          "Audio chunk metadata decoder configuration for Vorbis must include a description, which is expected to adhere to the format described in https://www.w3.org/TR/webcodecs-vorbis-codec-registration/.",
        );
    } else if (t.decoderConfig.codec.startsWith("flac")) {
      if (t.decoderConfig.codec !== "flac")
        throw new TypeError('Audio chunk metadata decoder configuration codec string for FLAC must be "flac".');
      if (!t.decoderConfig.description || t.decoderConfig.description.byteLength < 42)
        throw new TypeError(
          "Audio chunk metadata decoder configuration for FLAC must include a description, which is expected to adhere to the format described in https://www.w3.org/TR/webcodecs-flac-codec-registration/.",
        );
    } else if (t.decoderConfig.codec.startsWith("ac-3") || t.decoderConfig.codec.startsWith("ac3")) {
      if (t.decoderConfig.codec !== "ac-3")
        throw new TypeError('Audio chunk metadata decoder configuration codec string for AC-3 must be "ac-3".');
    } else if (t.decoderConfig.codec.startsWith("ec-3") || t.decoderConfig.codec.startsWith("eac3")) {
      if (t.decoderConfig.codec !== "ec-3")
        throw new TypeError('Audio chunk metadata decoder configuration codec string for EC-3 must be "ec-3".');
    } else if (t.decoderConfig.codec.startsWith("dts")) {
      if (!Kt.includes(t.decoderConfig.codec))
        throw new TypeError(
          `Audio chunk metadata decoder configuration codec string for DTS must be one of the following four-character codes: ${Kt.join(", ")}.`,
        );
    } else if (
      (t.decoderConfig.codec.startsWith("pcm") ||
        t.decoderConfig.codec.startsWith("ulaw") ||
        t.decoderConfig.codec.startsWith("alaw")) &&
      !U.includes(t.decoderConfig.codec)
    )
      throw new TypeError(
        `Audio chunk metadata decoder configuration codec string for PCM must be one of the supported PCM codecs (${U.join(", ")}).`,
      );
    if (e !== null && Xr(t.decoderConfig.codec) !== e)
      throw new TypeError(
        `Audio chunk metadata decoder configuration codec string '${t.decoderConfig.codec}' does not fit to the track codec '${e}'.`,
      );
  },
  Et = (t) => {
    if (!t) throw new TypeError("Subtitle metadata must be provided.");
    if (typeof t != "object") throw new TypeError("Subtitle metadata must be an object.");
    if (!t.config) throw new TypeError("Subtitle metadata must include a config object.");
    if (typeof t.config != "object") throw new TypeError("Subtitle metadata config must be an object.");
    if (typeof t.config.description != "string")
      throw new TypeError("Subtitle metadata config description must be a string.");
  };
var Zr = new Uint8Array(0),
  ce = class t {
    constructor(e, r, i, s, n = -1, o, a) {
      if (
        ((this.data = e),
        (this.type = r),
        (this.timestamp = i),
        (this.duration = s),
        (this.sequenceNumber = n),
        e === Zr && o === void 0)
      )
        throw new Error(
          "Internal error: byteLength must be explicitly provided when constructing metadata-only packets.",
        );
      if ((o === void 0 && (o = e.byteLength), !(e instanceof Uint8Array)))
        throw new TypeError("data must be a Uint8Array.");
      if (r !== "key" && r !== "delta") throw new TypeError('type must be either "key" or "delta".');
      if (!Number.isFinite(i)) throw new TypeError("timestamp must be a number.");
      if (!Number.isFinite(s) || s < 0) throw new TypeError("duration must be a non-negative number.");
      if (!Number.isFinite(n)) throw new TypeError("sequenceNumber must be a number.");
      if (!Number.isInteger(o) || o < 0) throw new TypeError("byteLength must be a non-negative integer.");
      if (a !== void 0 && (typeof a != "object" || !a))
        throw new TypeError("sideData, when provided, must be an object.");
      if (a?.alpha !== void 0 && !(a.alpha instanceof Uint8Array))
        throw new TypeError("sideData.alpha, when provided, must be a Uint8Array.");
      if (a?.alphaByteLength !== void 0 && (!Number.isInteger(a.alphaByteLength) || a.alphaByteLength < 0))
        throw new TypeError("sideData.alphaByteLength, when provided, must be a non-negative integer.");
      ((this.byteLength = o),
        (this.sideData = a ?? {}),
        this.sideData.alpha &&
          this.sideData.alphaByteLength === void 0 &&
          (this.sideData.alphaByteLength = this.sideData.alpha.byteLength));
    }
    get isMetadataOnly() {
      return this.data === Zr;
    }
    get microsecondTimestamp() {
      return Math.trunc(qt * this.timestamp);
    }
    get microsecondDuration() {
      return Math.trunc(qt * this.duration);
    }
    toEncodedVideoChunk() {
      if (this.isMetadataOnly) throw new TypeError("Metadata-only packets cannot be converted to a video chunk.");
      if (typeof EncodedVideoChunk > "u") throw new Error("EncodedVideoChunk is not available in this environment.");
      return new EncodedVideoChunk({
        data: this.data,
        type: this.type,
        timestamp: this.microsecondTimestamp,
        duration: this.microsecondDuration,
      });
    }
    alphaToEncodedVideoChunk(e = this.type) {
      if (!this.sideData.alpha) throw new TypeError("This packet does not contain alpha side data.");
      if (this.isMetadataOnly) throw new TypeError("Metadata-only packets cannot be converted to a video chunk.");
      if (typeof EncodedVideoChunk > "u") throw new Error("EncodedVideoChunk is not available in this environment.");
      return new EncodedVideoChunk({
        data: this.sideData.alpha,
        type: e,
        timestamp: this.microsecondTimestamp,
        duration: this.microsecondDuration,
      });
    }
    toEncodedAudioChunk() {
      if (this.isMetadataOnly) throw new TypeError("Metadata-only packets cannot be converted to an audio chunk.");
      if (typeof EncodedAudioChunk > "u") throw new Error("EncodedAudioChunk is not available in this environment.");
      return new EncodedAudioChunk({
        data: this.data,
        type: this.type,
        timestamp: this.microsecondTimestamp,
        duration: this.microsecondDuration,
      });
    }
    static fromEncodedChunk(e, r) {
      if (!(e instanceof EncodedVideoChunk || e instanceof EncodedAudioChunk))
        throw new TypeError("chunk must be an EncodedVideoChunk or EncodedAudioChunk.");
      let i = new Uint8Array(e.byteLength);
      return (e.copyTo(i), new t(i, e.type, e.timestamp / 1e6, (e.duration ?? 0) / 1e6, void 0, void 0, r));
    }
    clone(e) {
      if (e !== void 0 && (typeof e != "object" || e === null))
        throw new TypeError("options, when provided, must be an object.");
      if (e?.data !== void 0 && !(e.data instanceof Uint8Array))
        throw new TypeError("options.data, when provided, must be a Uint8Array.");
      if (e?.type !== void 0 && e.type !== "key" && e.type !== "delta")
        throw new TypeError('options.type, when provided, must be either "key" or "delta".');
      if (e?.timestamp !== void 0 && !Number.isFinite(e.timestamp))
        throw new TypeError("options.timestamp, when provided, must be a number.");
      if (e?.duration !== void 0 && !Number.isFinite(e.duration))
        throw new TypeError("options.duration, when provided, must be a number.");
      if (e?.sequenceNumber !== void 0 && !Number.isFinite(e.sequenceNumber))
        throw new TypeError("options.sequenceNumber, when provided, must be a number.");
      if (e?.sideData !== void 0 && (typeof e.sideData != "object" || e.sideData === null))
        throw new TypeError("options.sideData, when provided, must be an object.");
      return new t(
        e?.data ?? this.data,
        e?.type ?? this.type,
        e?.timestamp ?? this.timestamp,
        e?.duration ?? this.duration,
        e?.sequenceNumber ?? this.sequenceNumber,
        this.byteLength,
        e?.sideData ?? this.sideData,
      );
    }
  };
var Yr = (t) => {
  let r = (t.hasVideo ? "video/" : t.hasAudio ? "audio/" : "application/") + (t.isQuickTime ? "quicktime" : "mp4");
  if (t.codecStrings.length > 0) {
    let i = [...new Set(t.codecStrings)];
    r += `; codecs="${i.join(", ")}"`;
  }
  return r;
};
var kt = 8,
  Xt = 16;
var fe = class {
    constructor(e) {
      this.value = e;
    }
  },
  Ve = class {
    constructor(e) {
      this.value = e;
    }
  },
  ot = class {
    constructor(e) {
      this.value = e;
    }
  },
  L = class {
    constructor(e) {
      this.value = e;
    }
  },
  d;
(function (t) {
  ((t[(t.EBML = 440786851)] = "EBML"),
    (t[(t.EBMLVersion = 17030)] = "EBMLVersion"),
    (t[(t.EBMLReadVersion = 17143)] = "EBMLReadVersion"),
    (t[(t.EBMLMaxIDLength = 17138)] = "EBMLMaxIDLength"),
    (t[(t.EBMLMaxSizeLength = 17139)] = "EBMLMaxSizeLength"),
    (t[(t.DocType = 17026)] = "DocType"),
    (t[(t.DocTypeVersion = 17031)] = "DocTypeVersion"),
    (t[(t.DocTypeReadVersion = 17029)] = "DocTypeReadVersion"),
    (t[(t.Void = 236)] = "Void"),
    (t[(t.Segment = 408125543)] = "Segment"),
    (t[(t.SeekHead = 290298740)] = "SeekHead"),
    (t[(t.Seek = 19899)] = "Seek"),
    (t[(t.SeekID = 21419)] = "SeekID"),
    (t[(t.SeekPosition = 21420)] = "SeekPosition"),
    (t[(t.Duration = 17545)] = "Duration"),
    (t[(t.Info = 357149030)] = "Info"),
    (t[(t.TimestampScale = 2807729)] = "TimestampScale"),
    (t[(t.MuxingApp = 19840)] = "MuxingApp"),
    (t[(t.WritingApp = 22337)] = "WritingApp"),
    (t[(t.Tracks = 374648427)] = "Tracks"),
    (t[(t.TrackEntry = 174)] = "TrackEntry"),
    (t[(t.TrackNumber = 215)] = "TrackNumber"),
    (t[(t.TrackUID = 29637)] = "TrackUID"),
    (t[(t.TrackType = 131)] = "TrackType"),
    (t[(t.FlagEnabled = 185)] = "FlagEnabled"),
    (t[(t.FlagDefault = 136)] = "FlagDefault"),
    (t[(t.FlagForced = 21930)] = "FlagForced"),
    (t[(t.FlagOriginal = 21934)] = "FlagOriginal"),
    (t[(t.FlagHearingImpaired = 21931)] = "FlagHearingImpaired"),
    (t[(t.FlagVisualImpaired = 21932)] = "FlagVisualImpaired"),
    (t[(t.FlagCommentary = 21935)] = "FlagCommentary"),
    (t[(t.FlagLacing = 156)] = "FlagLacing"),
    (t[(t.Name = 21358)] = "Name"),
    (t[(t.Language = 2274716)] = "Language"),
    (t[(t.LanguageBCP47 = 2274717)] = "LanguageBCP47"),
    (t[(t.CodecID = 134)] = "CodecID"),
    (t[(t.CodecPrivate = 25506)] = "CodecPrivate"),
    (t[(t.CodecDelay = 22186)] = "CodecDelay"),
    (t[(t.SeekPreRoll = 22203)] = "SeekPreRoll"),
    (t[(t.DefaultDuration = 2352003)] = "DefaultDuration"),
    (t[(t.Video = 224)] = "Video"),
    (t[(t.PixelWidth = 176)] = "PixelWidth"),
    (t[(t.PixelHeight = 186)] = "PixelHeight"),
    (t[(t.DisplayWidth = 21680)] = "DisplayWidth"),
    (t[(t.DisplayHeight = 21690)] = "DisplayHeight"),
    (t[(t.DisplayUnit = 21682)] = "DisplayUnit"),
    (t[(t.AlphaMode = 21440)] = "AlphaMode"),
    (t[(t.Audio = 225)] = "Audio"),
    (t[(t.SamplingFrequency = 181)] = "SamplingFrequency"),
    (t[(t.Channels = 159)] = "Channels"),
    (t[(t.BitDepth = 25188)] = "BitDepth"),
    (t[(t.SimpleBlock = 163)] = "SimpleBlock"),
    (t[(t.BlockGroup = 160)] = "BlockGroup"),
    (t[(t.Block = 161)] = "Block"),
    (t[(t.BlockAdditions = 30113)] = "BlockAdditions"),
    (t[(t.BlockMore = 166)] = "BlockMore"),
    (t[(t.BlockAdditional = 165)] = "BlockAdditional"),
    (t[(t.BlockAddID = 238)] = "BlockAddID"),
    (t[(t.BlockDuration = 155)] = "BlockDuration"),
    (t[(t.ReferenceBlock = 251)] = "ReferenceBlock"),
    (t[(t.Cluster = 524531317)] = "Cluster"),
    (t[(t.Timestamp = 231)] = "Timestamp"),
    (t[(t.Cues = 475249515)] = "Cues"),
    (t[(t.CuePoint = 187)] = "CuePoint"),
    (t[(t.CueTime = 179)] = "CueTime"),
    (t[(t.CueTrackPositions = 183)] = "CueTrackPositions"),
    (t[(t.CueTrack = 247)] = "CueTrack"),
    (t[(t.CueClusterPosition = 241)] = "CueClusterPosition"),
    (t[(t.Colour = 21936)] = "Colour"),
    (t[(t.MatrixCoefficients = 21937)] = "MatrixCoefficients"),
    (t[(t.TransferCharacteristics = 21946)] = "TransferCharacteristics"),
    (t[(t.Primaries = 21947)] = "Primaries"),
    (t[(t.Range = 21945)] = "Range"),
    (t[(t.Projection = 30320)] = "Projection"),
    (t[(t.ProjectionType = 30321)] = "ProjectionType"),
    (t[(t.ProjectionPoseYaw = 30323)] = "ProjectionPoseYaw"),
    (t[(t.ProjectionPosePitch = 30324)] = "ProjectionPosePitch"),
    (t[(t.ProjectionPoseRoll = 30325)] = "ProjectionPoseRoll"),
    (t[(t.Attachments = 423732329)] = "Attachments"),
    (t[(t.AttachedFile = 24999)] = "AttachedFile"),
    (t[(t.FileDescription = 18046)] = "FileDescription"),
    (t[(t.FileName = 18030)] = "FileName"),
    (t[(t.FileMediaType = 18016)] = "FileMediaType"),
    (t[(t.FileData = 18012)] = "FileData"),
    (t[(t.FileUID = 18094)] = "FileUID"),
    (t[(t.Chapters = 272869232)] = "Chapters"),
    (t[(t.Tags = 307544935)] = "Tags"),
    (t[(t.Tag = 29555)] = "Tag"),
    (t[(t.Targets = 25536)] = "Targets"),
    (t[(t.TargetTypeValue = 26826)] = "TargetTypeValue"),
    (t[(t.TargetType = 25546)] = "TargetType"),
    (t[(t.TagTrackUID = 25541)] = "TagTrackUID"),
    (t[(t.TagEditionUID = 25545)] = "TagEditionUID"),
    (t[(t.TagChapterUID = 25540)] = "TagChapterUID"),
    (t[(t.TagAttachmentUID = 25542)] = "TagAttachmentUID"),
    (t[(t.SimpleTag = 26568)] = "SimpleTag"),
    (t[(t.TagName = 17827)] = "TagName"),
    (t[(t.TagLanguage = 17530)] = "TagLanguage"),
    (t[(t.TagString = 17543)] = "TagString"),
    (t[(t.TagBinary = 17541)] = "TagBinary"),
    (t[(t.ContentEncodings = 28032)] = "ContentEncodings"),
    (t[(t.ContentEncoding = 25152)] = "ContentEncoding"),
    (t[(t.ContentEncodingOrder = 20529)] = "ContentEncodingOrder"),
    (t[(t.ContentEncodingScope = 20530)] = "ContentEncodingScope"),
    (t[(t.ContentCompression = 20532)] = "ContentCompression"),
    (t[(t.ContentCompAlgo = 16980)] = "ContentCompAlgo"),
    (t[(t.ContentCompSettings = 16981)] = "ContentCompSettings"),
    (t[(t.ContentEncryption = 20533)] = "ContentEncryption"));
})(d || (d = {}));
var ms = [d.EBML, d.Segment],
  ps = [d.SeekHead, d.Info, d.Cluster, d.Tracks, d.Cues, d.Attachments, d.Chapters, d.Tags],
  go = [...ms, ...ps],
  Jr = (t) => (t < 256 ? 1 : t < 65536 ? 2 : t < 1 << 24 ? 3 : t < 2 ** 32 ? 4 : t < 2 ** 40 ? 5 : 6),
  ei = (t) =>
    t < 1n << 8n
      ? 1
      : t < 1n << 16n
        ? 2
        : t < 1n << 24n
          ? 3
          : t < 1n << 32n
            ? 4
            : t < 1n << 40n
              ? 5
              : t < 1n << 48n
                ? 6
                : t < 1n << 56n
                  ? 7
                  : 8,
  ti = (t) =>
    t >= -64 && t < 64
      ? 1
      : t >= -8192 && t < 8192
        ? 2
        : t >= -(1 << 20) && t < 1 << 20
          ? 3
          : t >= -(1 << 27) && t < 1 << 27
            ? 4
            : t >= -(2 ** 34) && t < 2 ** 34
              ? 5
              : 6,
  hs = (t) => {
    if (t < 127) return 1;
    if (t < 16383) return 2;
    if (t < (1 << 21) - 1) return 3;
    if (t < (1 << 28) - 1) return 4;
    if (t < 2 ** 35 - 1) return 5;
    if (t < 2 ** 42 - 1) return 6;
    throw new Error("EBML varint size not supported " + t);
  },
  vt = class {
    constructor(e) {
      ((this.writer = e),
        (this.helper = new Uint8Array(8)),
        (this.helperView = new DataView(this.helper.buffer)),
        (this.offsets = new WeakMap()),
        (this.dataOffsets = new WeakMap()));
    }
    writeByte(e) {
      (this.helperView.setUint8(0, e), this.writer.write(this.helper.subarray(0, 1)));
    }
    writeFloat32(e) {
      (this.helperView.setFloat32(0, e, !1), this.writer.write(this.helper.subarray(0, 4)));
    }
    writeFloat64(e) {
      (this.helperView.setFloat64(0, e, !1), this.writer.write(this.helper));
    }
    writeUnsignedInt(e, r = Jr(e)) {
      let i = 0;
      switch (r) {
        case 6:
          this.helperView.setUint8(i++, (e / 2 ** 40) | 0);
        case 5:
          this.helperView.setUint8(i++, (e / 2 ** 32) | 0);
        case 4:
          this.helperView.setUint8(i++, e >> 24);
        case 3:
          this.helperView.setUint8(i++, e >> 16);
        case 2:
          this.helperView.setUint8(i++, e >> 8);
        case 1:
          this.helperView.setUint8(i++, e);
          break;
        default:
          throw new Error("Bad unsigned int size " + r);
      }
      this.writer.write(this.helper.subarray(0, i));
    }
    writeUnsignedBigInt(e, r = ei(e)) {
      let i = 0;
      for (let s = r - 1; s >= 0; s--) this.helperView.setUint8(i++, Number((e >> BigInt(s * 8)) & 0xffn));
      this.writer.write(this.helper.subarray(0, i));
    }
    writeSignedInt(e, r = ti(e)) {
      (e < 0 && (e += 2 ** (r * 8)), this.writeUnsignedInt(e, r));
    }
    writeVarInt(e, r = hs(e)) {
      let i = 0;
      switch (r) {
        case 1:
          this.helperView.setUint8(i++, 128 | e);
          break;
        case 2:
          (this.helperView.setUint8(i++, 64 | (e >> 8)), this.helperView.setUint8(i++, e));
          break;
        case 3:
          (this.helperView.setUint8(i++, 32 | (e >> 16)),
            this.helperView.setUint8(i++, e >> 8),
            this.helperView.setUint8(i++, e));
          break;
        case 4:
          (this.helperView.setUint8(i++, 16 | (e >> 24)),
            this.helperView.setUint8(i++, e >> 16),
            this.helperView.setUint8(i++, e >> 8),
            this.helperView.setUint8(i++, e));
          break;
        case 5:
          (this.helperView.setUint8(i++, 8 | ((e / 2 ** 32) & 7)),
            this.helperView.setUint8(i++, e >> 24),
            this.helperView.setUint8(i++, e >> 16),
            this.helperView.setUint8(i++, e >> 8),
            this.helperView.setUint8(i++, e));
          break;
        case 6:
          (this.helperView.setUint8(i++, 4 | ((e / 2 ** 40) & 3)),
            this.helperView.setUint8(i++, (e / 2 ** 32) | 0),
            this.helperView.setUint8(i++, e >> 24),
            this.helperView.setUint8(i++, e >> 16),
            this.helperView.setUint8(i++, e >> 8),
            this.helperView.setUint8(i++, e));
          break;
        default:
          throw new Error("Bad EBML varint size " + r);
      }
      this.writer.write(this.helper.subarray(0, i));
    }
    writeAsciiString(e) {
      this.writer.write(new Uint8Array(e.split("").map((r) => r.charCodeAt(0))));
    }
    writeEBML(e) {
      if (e !== null)
        if (e instanceof Uint8Array) this.writer.write(e);
        else if (Array.isArray(e)) for (let r of e) this.writeEBML(r);
        else if ((this.offsets.set(e, this.writer.getPos()), this.writeUnsignedInt(e.id), Array.isArray(e.data))) {
          let r = this.writer.getPos(),
            i = e.size === -1 ? 1 : (e.size ?? 4);
          e.size === -1 ? this.writeByte(255) : this.writer.seek(this.writer.getPos() + i);
          let s = this.writer.getPos();
          if ((this.dataOffsets.set(e, s), this.writeEBML(e.data), e.size !== -1)) {
            let n = this.writer.getPos() - s,
              o = this.writer.getPos();
            (this.writer.seek(r), this.writeVarInt(n, i), this.writer.seek(o));
          }
        } else if (typeof e.data == "number") {
          let r = e.size ?? Jr(e.data);
          (this.writeVarInt(r), this.writeUnsignedInt(e.data, r));
        } else if (typeof e.data == "bigint") {
          let r = e.size ?? ei(e.data);
          (this.writeVarInt(r), this.writeUnsignedBigInt(e.data, r));
        } else if (typeof e.data == "string") (this.writeVarInt(e.data.length), this.writeAsciiString(e.data));
        else if (e.data instanceof Uint8Array) (this.writeVarInt(e.data.byteLength, e.size), this.writer.write(e.data));
        else if (e.data instanceof fe) (this.writeVarInt(4), this.writeFloat32(e.data.value));
        else if (e.data instanceof Ve) (this.writeVarInt(8), this.writeFloat64(e.data.value));
        else if (e.data instanceof ot) {
          let r = e.size ?? ti(e.data.value);
          (this.writeVarInt(r), this.writeSignedInt(e.data.value, r));
        } else if (e.data instanceof L) {
          let r = B.encode(e.data.value);
          (this.writeVarInt(r.length), this.writer.write(r));
        } else K(e.data);
    }
  },
  gs = 8;
var Ao = 2 * gs;
var ri = {
  avc: "V_MPEG4/ISO/AVC",
  hevc: "V_MPEGH/ISO/HEVC",
  vp8: "V_VP8",
  vp9: "V_VP9",
  av1: "V_AV1",
  prores: "V_PRORES",
  aac: "A_AAC",
  mp3: "A_MPEG/L3",
  opus: "A_OPUS",
  vorbis: "A_VORBIS",
  flac: "A_FLAC",
  ac3: "A_AC3",
  eac3: "A_EAC3",
  dts: "A_DTS",
  "pcm-u8": "A_PCM/INT/LIT",
  "pcm-s16": "A_PCM/INT/LIT",
  "pcm-s16be": "A_PCM/INT/BIG",
  "pcm-s24": "A_PCM/INT/LIT",
  "pcm-s24be": "A_PCM/INT/BIG",
  "pcm-s32": "A_PCM/INT/LIT",
  "pcm-s32be": "A_PCM/INT/BIG",
  "pcm-f32": "A_PCM/FLOAT/IEEE",
  "pcm-f64": "A_PCM/FLOAT/IEEE",
  webvtt: "S_TEXT/WEBVTT",
};
var ii = (t) => {
  let r = (t.hasVideo ? "video/" : t.hasAudio ? "audio/" : "application/") + (t.isWebM ? "webm" : "x-matroska");
  if (t.codecStrings.length > 0) {
    let i = [...new Set(t.codecStrings.filter(Boolean))];
    r += `; codecs="${i.join(", ")}"`;
  }
  return r;
};
var Bt = 7,
  Pt = 9,
  ze = (t) => {
    let e = t.filePos,
      r = si(t, 9),
      i = new k(r);
    if (i.readBits(12) !== 4095 || (i.skipBits(1), i.readBits(2) !== 0)) return null;
    let o = i.readBits(1),
      a = i.readBits(2) + 1,
      c = i.readBits(4);
    if (c === 15) return null;
    i.skipBits(1);
    let l = i.readBits(3);
    if (l === 0) throw new Error("ADTS frames with channel configuration 0 are not supported.");
    (i.skipBits(1), i.skipBits(1), i.skipBits(1), i.skipBits(1));
    let u = i.readBits(13);
    i.skipBits(11);
    let h = i.readBits(2) + 1;
    if (h !== 1) throw new Error("ADTS frames with more than one AAC frame are not supported.");
    let y = null;
    return (
      o === 1 ? (t.filePos -= 2) : (y = i.readBits(16)),
      {
        objectType: a,
        samplingFrequencyIndex: c,
        channelConfiguration: l,
        frameLength: u,
        numberOfAacFrames: h,
        crcCheck: y,
        startPos: e,
      }
    );
  };
var me = class t {
    constructor(e, r, i, s, n) {
      ((this.bytes = e),
        (this.view = r),
        (this.offset = i),
        (this.start = s),
        (this.end = n),
        (this.bufferPos = s - i));
    }
    static tempFromBytes(e) {
      return new t(e, we(e), 0, 0, e.length);
    }
    get length() {
      return this.end - this.start;
    }
    get filePos() {
      return this.offset + this.bufferPos;
    }
    set filePos(e) {
      this.bufferPos = e - this.offset;
    }
    get remainingLength() {
      return Math.max(this.end - this.filePos, 0);
    }
    skip(e) {
      this.bufferPos += e;
    }
    slice(e, r = this.end - e) {
      if (e < this.start || e + r > this.end) throw new RangeError("Slicing outside of original slice.");
      return new t(this.bytes, this.view, this.offset, e, e + r);
    }
  },
  As = (t, e) => {
    if (t.filePos < t.start || t.filePos + e > t.end)
      throw new RangeError(
        `Tried reading [${t.filePos}, ${t.filePos + e}), but slice is [${t.start}, ${t.end}). This is likely an internal error, please report it alongside the file that caused it.`,
      );
  },
  si = (t, e) => {
    As(t, e);
    let r = t.bytes.subarray(t.bufferPos, t.bufferPos + e);
    return ((t.bufferPos += e), r);
  };
var De = class {
  constructor(e) {
    ((this.mutex = new Fe()), (this.trackTimestampInfo = new WeakMap()), (this.output = e));
  }
  onTrackClose(e) {}
  validateTimestamp(e, r, i) {
    let s = this.trackTimestampInfo.get(e);
    if (s) {
      if (
        (i && (s.maxTimestampBeforeLastKeyPacket = s.maxTimestamp),
        s.maxTimestampBeforeLastKeyPacket !== null && r < s.maxTimestampBeforeLastKeyPacket)
      )
        throw new Error(
          `Timestamps cannot be smaller than the largest timestamp of the previous GOP (a GOP begins with a key packet and ends right before the next key packet). Got ${r}s, but largest timestamp is ${s.maxTimestampBeforeLastKeyPacket}s.`,
        );
      s.maxTimestamp = Math.max(s.maxTimestamp, r);
    } else {
      if (!i) throw new Error("First packet must be a key packet.");
      ((s = { maxTimestamp: r, maxTimestampBeforeLastKeyPacket: null }), this.trackTimestampInfo.set(e, s));
    }
  }
};
var We = /<(?:(\d{2}):)?(\d{2}):(\d{2}).(\d{3})>/g;
var ws = /(?:(\d{2}):)?(\d{2}):(\d{2}).(\d{3})/,
  ni = (t) => {
    let e = ws.exec(t);
    if (!e) throw new Error("Expected match.");
    return 3600 * 1e3 * Number(e[1] || "0") + 60 * 1e3 * Number(e[2]) + 1e3 * Number(e[3]) + Number(e[4]);
  },
  It = (t) => {
    let e = Math.floor(t / 36e5),
      r = Math.floor((t % (3600 * 1e3)) / (60 * 1e3)),
      i = Math.floor((t % (60 * 1e3)) / 1e3),
      s = t % 1e3;
    return (
      e.toString().padStart(2, "0") +
      ":" +
      r.toString().padStart(2, "0") +
      ":" +
      i.toString().padStart(2, "0") +
      "." +
      s.toString().padStart(3, "0")
    );
  };
var Se = class {
    constructor(e) {
      ((this.writer = e),
        (this.helper = new Uint8Array(8)),
        (this.helperView = new DataView(this.helper.buffer)),
        (this.offsets = new WeakMap()));
    }
    writeU32(e) {
      (this.helperView.setUint32(0, e, !1), this.writer.write(this.helper.subarray(0, 4)));
    }
    writeU64(e) {
      (this.helperView.setUint32(0, Math.floor(e / 2 ** 32), !1),
        this.helperView.setUint32(4, e, !1),
        this.writer.write(this.helper.subarray(0, 8)));
    }
    writeAscii(e) {
      for (let r = 0; r < e.length; r++)
        (this.helperView.setUint8(r % 8, e.charCodeAt(r)), r % 8 === 7 && this.writer.write(this.helper));
      e.length % 8 !== 0 && this.writer.write(this.helper.subarray(0, e.length % 8));
    }
    writeBox(e) {
      if ((this.offsets.set(e, this.writer.getPos()), e.contents && !e.children))
        (this.writeBoxHeader(e, e.size ?? e.contents.byteLength + 8), this.writer.write(e.contents));
      else {
        let r = this.writer.getPos();
        if ((this.writeBoxHeader(e, 0), e.contents && this.writer.write(e.contents), e.children))
          for (let n of e.children) n && this.writeBox(n);
        let i = this.writer.getPos(),
          s = e.size ?? i - r;
        (this.writer.seek(r), this.writeBoxHeader(e, s), this.writer.seek(i));
      }
    }
    writeBoxHeader(e, r) {
      (this.writeU32(e.largeSize ? 1 : r), this.writeAscii(e.type), e.largeSize && this.writeU64(r));
    }
    measureBoxHeader(e) {
      return 8 + (e.largeSize ? 8 : 0);
    }
    patchBox(e) {
      let r = this.offsets.get(e);
      f(r !== void 0);
      let i = this.writer.getPos();
      (this.writer.seek(r), this.writeBox(e), this.writer.seek(i));
    }
    measureBox(e) {
      if (e.contents && !e.children) return this.measureBoxHeader(e) + e.contents.byteLength;
      {
        let r = this.measureBoxHeader(e);
        if ((e.contents && (r += e.contents.byteLength), e.children))
          for (let i of e.children) i && (r += this.measureBox(i));
        return r;
      }
    }
  },
  x = new Uint8Array(8),
  D = new DataView(x.buffer),
  E = (t) => [((t % 256) + 256) % 256],
  w = (t) => (D.setUint16(0, t, !1), [x[0], x[1]]),
  er = (t) => (D.setInt16(0, t, !1), [x[0], x[1]]),
  li = (t) => (D.setUint32(0, t, !1), [x[1], x[2], x[3]]),
  m = (t) => (D.setUint32(0, t, !1), [x[0], x[1], x[2], x[3]]),
  te = (t) => (D.setInt32(0, t, !1), [x[0], x[1], x[2], x[3]]),
  q = (t) => (
    D.setUint32(0, Math.floor(t / 2 ** 32), !1),
    D.setUint32(4, t, !1),
    [x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]]
  ),
  oi = (t) => (
    D.setInt32(0, Math.floor(t / 2 ** 32), !1),
    D.setUint32(4, t, !1),
    [x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]]
  ),
  ui = (t) => (D.setInt16(0, 2 ** 8 * t, !1), [x[0], x[1]]),
  z = (t) => (D.setInt32(0, 2 ** 16 * t, !1), [x[0], x[1], x[2], x[3]]),
  Zt = (t) => (D.setInt32(0, 2 ** 30 * t, !1), [x[0], x[1], x[2], x[3]]),
  Yt = (t, e) => {
    let r = [],
      i = t;
    do {
      let s = i & 127;
      ((i >>= 7), r.length > 0 && (s |= 128), r.push(s), e !== void 0 && e--);
    } while (i > 0 || e);
    return r.reverse();
  },
  S = (t, e = !1) => {
    let r = Array(t.length)
      .fill(null)
      .map((i, s) => t.charCodeAt(s));
    return (e && r.push(0), r);
  },
  di = (t) => [z(t[0]), z(t[1]), Zt(t[2]), z(t[3]), z(t[4]), Zt(t[5]), z(t[6]), z(t[7]), Zt(t[8])],
  g = (t, e, r) => ({ type: t, contents: e && new Uint8Array(e.flat(10)), children: r }),
  T = (t, e, r, i, s) => g(t, [E(e), li(r), i ?? []], s),
  fi = (t) =>
    t.isQuickTime
      ? g("ftyp", [S("qt  "), m(512), S("qt  ")])
      : t.fragmented
        ? t.cmaf
          ? g("ftyp", [S("iso5"), m(512), S("iso5"), S("iso6"), S("mp41"), S("cmfc"), S("dash")])
          : g("ftyp", [S("iso5"), m(512), S("iso5"), S("iso6"), S("mp41")])
        : g("ftyp", [S("isom"), m(512), S("isom"), t.holdsAvc ? S("avc1") : [], S("mp41")]),
  tr = () => g("styp", [S("iso5"), m(0), S("iso5"), S("iso6"), S("mp41"), S("cmfc"), S("dash")]),
  rr = (t, e) => {
    let r = Math.max(0, t.minWrittenTimestamp),
      i = Math.max(0, t.maxWrittenEndTimestamp - r);
    return (
      Number.isFinite(i) || (i = 0),
      T("sidx", 1, 0, [m(1), m(O), q(_(r, O)), q(0), w(0), w(1), m(e & 2147483647), m(_(i, O)), m(0)])
    );
  },
  at = (t) => ({ type: "mdat", largeSize: t }),
  mi = (t) => ({ type: "free", size: t }),
  Ne = (t) =>
    g("moov", void 0, [
      ys(t.creationTime, t.trackDatas),
      ...t.trackDatas.map((e) => bs(e, t.creationTime)),
      t.isFragmented ? an(t.trackDatas) : null,
      gn(t),
    ]),
  ys = (t, e) => {
    let r = Math.max(0, ...e.map((o) => Math.max(0, _(_e(o), O) + _(o.startTimestampOffset ?? 0, O)))),
      i = Math.max(0, ...e.map((o) => o.track.id)) + 1,
      s = !$(t) || !$(r),
      n = s ? q : m;
    return T("mvhd", +s, 0, [n(t), n(t), m(O), n(r), z(1), ui(1), Array(10).fill(0), di(Nt), Array(24).fill(0), m(i)]);
  },
  bs = (t, e) => {
    let r = Ti(t),
      i = t.startTimestampOffset !== null && t.startTimestampOffset !== 0;
    return g("trak", void 0, [
      xs(t, e),
      i ? Ts(t) : null,
      Cs(t, e),
      r.name !== void 0 ? g("udta", void 0, [g("name", [...B.encode(r.name)])]) : null,
    ]);
  },
  xs = (t, e) => {
    let r = Math.max(0, _(_e(t), O) + _(t.startTimestampOffset ?? 0, O)),
      i = !$(e) || !$(r),
      s = i ? q : m,
      n;
    if (t.type === "video" && t.track.metadata.transformationMatrix) n = t.track.metadata.transformationMatrix;
    else if (t.type === "video") {
      let { rotation: c, flip: l } = t.track.metadata,
        u = Ie(gt(c ?? 0), mr(l ? -1 : 1, 1));
      n = dr(u, t.info.width, t.info.height);
    } else n = Nt;
    let o = 2;
    t.track.metadata.disposition?.default !== !1 && (o |= 1);
    let a = t.type === "video" ? 0 : t.type === "audio" ? 1 : t.type === "subtitle" ? 2 : K(t);
    return T("tkhd", +i, o, [
      s(e),
      s(e),
      m(t.track.id),
      m(0),
      s(r),
      Array(8).fill(0),
      w(0),
      w(a),
      ui(t.type === "audio" ? 1 : 0),
      w(0),
      di(n),
      z(t.type === "video" ? t.info.width : 0),
      z(t.type === "video" ? t.info.height : 0),
    ]);
  },
  Ts = (t) => {
    let e = t.startTimestampOffset;
    if ((f(e !== null), e > 0)) {
      let r = _(e, O),
        i = _(_e(t), O),
        s = !$(r) || !$(i),
        n = s ? q : m,
        o = s ? oi : te;
      return g("edts", void 0, [T("elst", s ? 1 : 0, 0, [m(2), n(r), o(-1), z(1), n(i), o(0), z(1)])]);
    } else {
      let r = _(-e, t.timescale),
        i = Math.max(0, _(_e(t), O) + _(e, O)),
        s = !pr(r) || !$(i),
        n = s ? q : m,
        o = s ? oi : te;
      return g("edts", void 0, [T("elst", s ? 1 : 0, 0, [m(1), n(i), o(r), z(1)])]);
    }
  },
  Cs = (t, e) => g("mdia", void 0, [Ss(t, e), ir(!0, _s[t.type], Es[t.type]), ks(t)]),
  Ss = (t, e) => {
    let r = _(_e(t), t.timescale),
      i = !$(e) || !$(r),
      s = i ? q : m;
    return T("mdhd", +i, 0, [s(e), s(e), m(t.timescale), s(r), w(xi(t.track.metadata.languageCode ?? yt)), w(0)]);
  },
  _s = { video: "vide", audio: "soun", subtitle: "text" },
  Es = { video: "MediabunnyVideoHandler", audio: "MediabunnySoundHandler", subtitle: "MediabunnyTextHandler" },
  ir = (t, e, r, i = "\0\0\0\0") => T("hdlr", 0, 0, [t ? S("mhlr") : m(0), S(e), S(i), m(0), m(0), S(r, !0)]),
  ks = (t) => g("minf", void 0, [Is[t.type](), Fs(), Os(t)]),
  vs = () => T("vmhd", 0, 1, [w(0), w(0), w(0), w(0)]),
  Bs = () => T("smhd", 0, 0, [w(0), w(0)]),
  Ps = () => T("nmhd", 0, 0),
  Is = { video: vs, audio: Bs, subtitle: Ps },
  Fs = () => g("dinf", void 0, [Rs()]),
  Rs = () => T("dref", 0, 0, [m(1)], [Ms()]),
  Ms = () => T("url ", 0, 1),
  Os = (t) => {
    let e =
      t.compositionTimeOffsetTable.length > 1 ||
      t.compositionTimeOffsetTable.some((r) => r.sampleCompositionTimeOffset !== 0);
    return g("stbl", void 0, [Us(t), Js(t), e ? nn(t) : null, e ? on(t) : null, tn(t), rn(t), sn(t), en(t)]);
  },
  Us = (t) => {
    let e;
    if (t.type === "video") e = Vs(bn(t.track.source._codec, t.info.decoderConfig.codec), t);
    else if (t.type === "audio") {
      let r = bi(t.track.source._codec, t.info.decoderConfig.codec, t.muxer.isQuickTime);
      (f(r), (e = Hs(r, t)));
    } else t.type === "subtitle" && (e = Zs(Cn[t.track.source._codec], t));
    return (f(e), T("stsd", 0, 0, [m(1)], [e]));
  },
  Vs = (t, e) =>
    g(
      t,
      [
        Array(6).fill(0),
        w(1),
        w(0),
        w(0),
        Array(12).fill(0),
        w(e.info.width),
        w(e.info.height),
        m(4718592),
        m(4718592),
        m(0),
        w(1),
        E(Te.length),
        S(Te),
        Array(31 - Te.length).fill(0),
        w(e.info.hasAlphaChannel ? 32 : 24),
        er(65535),
      ],
      [xn[e.track.source._codec]?.(e) ?? null, zs(e), At(e.info.decoderConfig.colorSpace) ? null : Ds(e), sr(e)],
    ),
  sr = (t) => (t.avgBitrate === 0 && t.maxBitrate === 0 ? null : g("btrt", [m(0), m(t.maxBitrate), m(t.avgBitrate)])),
  zs = (t) =>
    t.info.pixelAspectRatio.num === t.info.pixelAspectRatio.den
      ? null
      : g("pasp", [m(t.info.pixelAspectRatio.num), m(t.info.pixelAspectRatio.den)]),
  Ds = (t) => {
    let e = t.info.decoderConfig.colorSpace;
    return g("colr", [
      S(t.muxer.isQuickTime ? "nclc" : "nclx"),
      w(e?.primaries != null ? ye[e.primaries] : 2),
      w(e?.transfer != null ? be[e.transfer] : 2),
      w(e?.matrix != null ? xe[e.matrix] : 2),
      t.muxer.isQuickTime ? [] : E((e?.fullRange ? 1 : 0) << 7),
    ]);
  },
  Ws = (t) => t.info.decoderConfig && g("avcC", [...W(t.info.decoderConfig.description)]),
  Ns = (t) => t.info.decoderConfig && g("hvcC", [...W(t.info.decoderConfig.description)]),
  ai = (t) => {
    if (!t.info.decoderConfig) return null;
    let e = t.info.decoderConfig,
      r = e.codec.split("."),
      i = Number(r[1]),
      s = Number(r[2]),
      n = Number(r[3]),
      o = r[4] ? Number(r[4]) : 1,
      a = r[8] ? Number(r[8]) : Number(e.colorSpace?.fullRange ?? 0),
      c = (n << 4) + (o << 1) + a,
      l = r[5] ? Number(r[5]) : e.colorSpace?.primaries ? ye[e.colorSpace.primaries] : 1,
      u = r[6] ? Number(r[6]) : e.colorSpace?.transfer ? be[e.colorSpace.transfer] : 1,
      h = r[7] ? Number(r[7]) : e.colorSpace?.matrix ? xe[e.colorSpace.matrix] : 1;
    return T("vpcC", 1, 0, [E(i), E(s), E(c), E(l), E(u), E(h), w(0)]);
  },
  Ls = (t) => g("av1C", _t(t.info.decoderConfig.codec)),
  Hs = (t, e) => {
    let r = 0,
      i,
      s = 16,
      n = U.includes(e.track.source._codec);
    if (n) {
      let o = e.track.source._codec,
        { sampleSize: a } = N(o);
      ((s = 8 * a), s > 16 && (r = 1));
    }
    if ((e.muxer.isQuickTime && (r = 1), r === 0))
      i = [
        Array(6).fill(0),
        w(1),
        w(r),
        w(0),
        m(0),
        w(e.info.numberOfChannels),
        w(s),
        w(0),
        w(0),
        w(e.info.sampleRate < 2 ** 16 ? e.info.sampleRate : 0),
        w(0),
      ];
    else {
      let o = n ? 0 : -2;
      i = [
        Array(6).fill(0),
        w(1),
        w(r),
        w(0),
        m(0),
        w(e.info.numberOfChannels),
        w(Math.min(s, 16)),
        er(o),
        w(0),
        w(e.info.sampleRate < 2 ** 16 ? e.info.sampleRate : 0),
        w(0),
        n ? [m(1), m(s / 8), m((e.info.numberOfChannels * s) / 8)] : [m(0), m(0), m(0)],
        m(2),
      ];
    }
    return g(t, i, [Tn(e.track.source._codec, e.muxer.isQuickTime)?.(e) ?? null, sr(e)]);
  },
  Jt = (t) => {
    let e;
    switch (t.track.source._codec) {
      case "aac":
        e = 64;
        break;
      case "mp3":
        e = 107;
        break;
      case "vorbis":
        e = 221;
        break;
      default:
        throw new Error(`Unhandled audio codec: ${t.track.source._codec}`);
    }
    let r = [...E(e), ...E(21), ...li(0), ...m(t.maxBitrate), ...m(t.avgBitrate)];
    if (t.info.decoderConfig.description) {
      let i = W(t.info.decoderConfig.description);
      r = [...r, ...E(5), ...Yt(i.byteLength), ...i];
    }
    return (
      (r = [...w(1), ...E(0), ...E(4), ...Yt(r.length), ...r, ...E(6), ...E(1), ...E(2)]),
      (r = [...E(3), ...Yt(r.length), ...r]),
      T("esds", 0, 0, r)
    );
  },
  pe = (t) => g("wave", void 0, [qs(t), Qs(t), g("\0\0\0\0")]),
  qs = (t) => g("frma", [S(bi(t.track.source._codec, t.info.decoderConfig.codec, t.muxer.isQuickTime))]),
  Qs = (t) => {
    let { littleEndian: e } = N(t.track.source._codec);
    return g("enda", [w(+e)]);
  },
  js = (t) => {
    let e = t.info.numberOfChannels,
      r = 3840,
      i = t.info.sampleRate,
      s = 0,
      n = 0,
      o = new Uint8Array(0),
      a = t.info.decoderConfig?.description;
    if (a) {
      f(a.byteLength >= 18);
      let c = W(a),
        l = St(c);
      ((e = l.outputChannelCount),
        (r = l.preSkip),
        (i = l.inputSampleRate),
        (s = l.outputGain),
        (n = l.channelMappingFamily),
        l.channelMappingTable && (o = l.channelMappingTable));
    }
    return g("dOps", [E(0), E(e), w(r), m(i), er(s), E(n), ...o]);
  },
  $s = (t) => {
    let e = t.info.decoderConfig?.description;
    f(e);
    let r = W(e);
    return T("dfLa", 0, 0, [...r.subarray(4)]);
  },
  J = (t) => {
    let { littleEndian: e, sampleSize: r } = N(t.track.source._codec),
      i = +e;
    return T("pcmC", 0, 0, [E(i), E(8 * r)]);
  },
  Gs = (t) => {
    f(t.info.primingPacket);
    let e = Hr(t.info.primingPacket.data);
    if (!e)
      throw new Error(
        "Couldn't extract AC-3 frame info from the audio packet. Ensure the packets contain valid AC-3 sync frames (as specified in ETSI TS 102 366).",
      );
    let r = new Uint8Array(3),
      i = new k(r);
    return (
      i.writeBits(2, e.fscod),
      i.writeBits(5, e.bsid),
      i.writeBits(3, e.bsmod),
      i.writeBits(3, e.acmod),
      i.writeBits(1, e.lfeon),
      i.writeBits(5, e.bitRateCode),
      i.writeBits(5, 0),
      g("dac3", [...r])
    );
  },
  Ks = (t) => {
    f(t.info.primingPacket);
    let e = qr(t.info.primingPacket.data);
    if (!e)
      throw new Error(
        "Couldn't extract E-AC-3 frame info from the audio packet. Ensure the packets contain valid E-AC-3 sync frames (as specified in ETSI TS 102 366).",
      );
    let r = 16;
    for (let o of e.substreams) ((r += 23), o.numDepSub > 0 ? (r += 9) : (r += 1));
    let i = Math.ceil(r / 8),
      s = new Uint8Array(i),
      n = new k(s);
    (n.writeBits(13, e.dataRate), n.writeBits(3, e.substreams.length - 1));
    for (let o of e.substreams)
      (n.writeBits(2, o.fscod),
        n.writeBits(5, o.bsid),
        n.writeBits(1, 0),
        n.writeBits(1, 0),
        n.writeBits(3, o.bsmod),
        n.writeBits(3, o.acmod),
        n.writeBits(1, o.lfeon),
        n.writeBits(3, 0),
        n.writeBits(4, o.numDepSub),
        o.numDepSub > 0 ? n.writeBits(9, o.chanLoc) : n.writeBits(1, 0));
    return g("dec3", [...s]);
  },
  Xs = (t) => {
    f(t.info.primingPacket);
    let e = Qr(t.info.primingPacket.data);
    if (!e)
      throw new Error(
        "Couldn't extract DTS frame info from the audio packet. Ensure the packets contain valid DTS frames as specified in ETSI TS 102 114.",
      );
    return g("ddts", [...jr(e)]);
  },
  Zs = (t, e) => g(t, [Array(6).fill(0), w(1)], [Sn[e.track.source._codec](e), sr(e)]),
  Ys = (t) => g("vttC", [...B.encode(t.info.config.description)]);
var Js = (t) =>
    T("stts", 0, 0, [
      m(t.timeToSampleTable.length),
      t.timeToSampleTable.map((e) => [m(e.sampleCount), m(e.sampleDelta)]),
    ]),
  en = (t) => {
    if (t.samples.every((r) => r.type === "key")) return null;
    let e = [...t.samples.entries()].filter(([, r]) => r.type === "key");
    return T("stss", 0, 0, [m(e.length), e.map(([r]) => m(r + 1))]);
  },
  tn = (t) =>
    T("stsc", 0, 0, [
      m(t.compactlyCodedChunkTable.length),
      t.compactlyCodedChunkTable.map((e) => [m(e.firstChunk), m(e.samplesPerChunk), m(1)]),
    ]),
  rn = (t) => {
    if (t.type === "audio" && t.info.requiresPcmTransformation) {
      let { sampleSize: e } = N(t.track.source._codec);
      return T("stsz", 0, 0, [
        m(e * t.info.numberOfChannels),
        m(t.samples.reduce((r, i) => r + _(i.duration, t.timescale), 0)),
      ]);
    }
    return T("stsz", 0, 0, [m(0), m(t.samples.length), t.samples.map((e) => m(e.size))]);
  },
  sn = (t) =>
    t.finalizedChunks.length > 0 && j(t.finalizedChunks).offset >= 2 ** 32
      ? T("co64", 0, 0, [m(t.finalizedChunks.length), t.finalizedChunks.map((e) => q(e.offset))])
      : T("stco", 0, 0, [m(t.finalizedChunks.length), t.finalizedChunks.map((e) => m(e.offset))]),
  nn = (t) =>
    T("ctts", 1, 0, [
      m(t.compositionTimeOffsetTable.length),
      t.compositionTimeOffsetTable.map((e) => [m(e.sampleCount), te(e.sampleCompositionTimeOffset)]),
    ]),
  on = (t) => {
    let e = 1 / 0,
      r = -1 / 0,
      i = 1 / 0,
      s = -1 / 0;
    (f(t.compositionTimeOffsetTable.length > 0), f(t.samples.length > 0));
    for (let o = 0; o < t.compositionTimeOffsetTable.length; o++) {
      let a = t.compositionTimeOffsetTable[o];
      ((e = Math.min(e, a.sampleCompositionTimeOffset)), (r = Math.max(r, a.sampleCompositionTimeOffset)));
    }
    for (let o = 0; o < t.samples.length; o++) {
      let a = t.samples[o];
      ((i = Math.min(i, _(a.timestamp, t.timescale))), (s = Math.max(s, _(a.timestamp + a.duration, t.timescale))));
    }
    let n = Math.max(-e, 0);
    return s >= 2 ** 31 ? null : T("cslg", 0, 0, [te(n), te(e), te(r), te(i), te(s)]);
  },
  an = (t) => g("mvex", void 0, t.map(cn)),
  cn = (t) => T("trex", 0, 0, [m(t.track.id), m(1), m(0), m(0), m(0)]),
  nr = (t, e) => g("moof", void 0, [ln(t), ...e.map(un)]),
  ln = (t) => T("mfhd", 0, 0, [m(t)]),
  pi = (t) => {
    let e = 0,
      r = 0,
      i = 0,
      s = 0,
      n = t.type === "delta";
    return ((r |= +n), n ? (e |= 1) : (e |= 2), (e << 24) | (r << 16) | (i << 8) | s);
  },
  un = (t) => g("traf", void 0, [dn(t), fn(t), mn(t)]),
  dn = (t) => {
    f(t.currentChunk);
    let e = 0;
    ((e |= 8), (e |= 16), (e |= 32), (e |= 131072));
    let r = t.currentChunk.samples[1] ?? t.currentChunk.samples[0],
      i = { duration: r.timescaleUnitsToNextSample, size: r.size, flags: pi(r) };
    return T("tfhd", 0, e, [m(t.track.id), m(i.duration), m(i.size), m(i.flags)]);
  },
  fn = (t) => (f(t.currentChunk), T("tfdt", 1, 0, [q(_(t.currentChunk.startTimestamp, t.timescale))])),
  mn = (t) => {
    f(t.currentChunk);
    let e = t.currentChunk.samples.map((C) => C.timescaleUnitsToNextSample),
      r = t.currentChunk.samples.map((C) => C.size),
      i = t.currentChunk.samples.map(pi),
      s = t.currentChunk.samples.map((C) => _(C.timestamp - C.decodeTimestamp, t.timescale)),
      n = new Set(e),
      o = new Set(r),
      a = new Set(i),
      c = new Set(s),
      l = a.size === 2 && i[0] !== i[1],
      u = n.size > 1,
      h = o.size > 1,
      y = !l && a.size > 1,
      A = c.size > 1 || [...c].some((C) => C !== 0),
      b = 0;
    return (
      (b |= 1),
      (b |= 4 * +l),
      (b |= 256 * +u),
      (b |= 512 * +h),
      (b |= 1024 * +y),
      (b |= 2048 * +A),
      T("trun", 1, b, [
        m(t.currentChunk.samples.length),
        m(t.currentChunk.offset - t.currentChunk.moofOffset || 0),
        l ? m(i[0]) : [],
        t.currentChunk.samples.map((C, v) => [u ? m(e[v]) : [], h ? m(r[v]) : [], y ? m(i[v]) : [], A ? te(s[v]) : []]),
      ])
    );
  },
  hi = (t) => g("mfra", void 0, [...t.map(pn), hn()]),
  pn = (t) =>
    T("tfra", 1, 0, [
      m(t.track.id),
      m(63),
      m(t.finalizedChunks.length),
      t.finalizedChunks.map((r) => [
        q(_(r.samples[0].timestamp, t.timescale)),
        q(r.moofOffset),
        m(r.trafIndex + 1),
        m(1),
        m(1),
      ]),
    ]),
  hn = () => T("mfro", 0, 0, [m(0)]),
  gi = () => g("vtte"),
  Ai = (t, e, r, i, s) =>
    g("vttc", void 0, [
      s !== null ? g("vsid", [te(s)]) : null,
      r !== null ? g("iden", [...B.encode(r)]) : null,
      e !== null ? g("ctim", [...B.encode(It(e))]) : null,
      i !== null ? g("sttg", [...B.encode(i)]) : null,
      g("payl", [...B.encode(t)]),
    ]),
  wi = (t) => g("vtta", [...B.encode(t)]),
  gn = (t) => {
    let e = [],
      r = t.format._options.metadataFormat ?? "auto",
      i = t.output._metadataTags;
    if (r === "mdir" || (r === "auto" && !t.isQuickTime)) {
      let s = wn(i);
      s && e.push(s);
    } else if (r === "mdta") {
      let s = yn(i);
      s && e.push(s);
    } else (r === "udta" || (r === "auto" && t.isQuickTime)) && An(e, t.output._metadataTags);
    return e.length === 0 ? null : g("udta", void 0, e);
  },
  An = (t, e) => {
    for (let { key: r, value: i } of Me(e))
      switch (r) {
        case "title":
          t.push(ee("\xA9nam", i));
          break;
        case "description":
          t.push(ee("\xA9des", i));
          break;
        case "artist":
          t.push(ee("\xA9ART", i));
          break;
        case "album":
          t.push(ee("\xA9alb", i));
          break;
        case "albumArtist":
          t.push(ee("albr", i));
          break;
        case "genre":
          t.push(ee("\xA9gen", i));
          break;
        case "date":
          t.push(ee("\xA9day", i.toISOString().slice(0, 10)));
          break;
        case "comment":
          t.push(ee("\xA9cmt", i));
          break;
        case "lyrics":
          t.push(ee("\xA9lyr", i));
          break;
        case "raw":
          break;
        case "discNumber":
        case "discsTotal":
        case "trackNumber":
        case "tracksTotal":
        case "beatsPerMinute":
        case "images":
          break;
        default:
          K(r);
      }
    if (e.raw)
      for (let r in e.raw) {
        let i = e.raw[r];
        i == null ||
          r.length !== 4 ||
          t.some((s) => s.type === r) ||
          (typeof i == "string" ? t.push(ee(r, i)) : i instanceof Uint8Array && t.push(g(r, Array.from(i))));
      }
  },
  ee = (t, e) => {
    let r = B.encode(e);
    return g(t, [w(r.length), w(xi("und")), Array.from(r)]);
  },
  ci = { "image/jpeg": 13, "image/png": 14, "image/bmp": 27 },
  yi = (t, e) => {
    let r = [];
    for (let { key: i, value: s } of Me(t))
      switch (i) {
        case "title":
          r.push({ key: e ? "title" : "\xA9nam", value: H(s) });
          break;
        case "description":
          r.push({ key: e ? "description" : "\xA9des", value: H(s) });
          break;
        case "artist":
          r.push({ key: e ? "artist" : "\xA9ART", value: H(s) });
          break;
        case "album":
          r.push({ key: e ? "album" : "\xA9alb", value: H(s) });
          break;
        case "albumArtist":
          r.push({ key: e ? "album_artist" : "aART", value: H(s) });
          break;
        case "comment":
          r.push({ key: e ? "comment" : "\xA9cmt", value: H(s) });
          break;
        case "genre":
          r.push({ key: e ? "genre" : "\xA9gen", value: H(s) });
          break;
        case "beatsPerMinute":
          e || r.push({ key: "tmpo", value: g("data", [m(21), m(0), w(s)]) });
          break;
        case "lyrics":
          r.push({ key: e ? "lyrics" : "\xA9lyr", value: H(s) });
          break;
        case "date":
          r.push({ key: e ? "date" : "\xA9day", value: H(s.toISOString().slice(0, 10)) });
          break;
        case "images":
          for (let n of s)
            n.kind === "coverFront" &&
              r.push({ key: "covr", value: g("data", [m(ci[n.mimeType] ?? 0), m(0), Array.from(n.data)]) });
          break;
        case "trackNumber":
          if (e) {
            let n = t.tracksTotal !== void 0 ? `${s}/${t.tracksTotal}` : s.toString();
            r.push({ key: "track", value: H(n) });
          } else r.push({ key: "trkn", value: g("data", [m(0), m(0), w(0), w(s), w(t.tracksTotal ?? 0), w(0)]) });
          break;
        case "discNumber":
          e || r.push({ key: "disc", value: g("data", [m(0), m(0), w(0), w(s), w(t.discsTotal ?? 0), w(0)]) });
          break;
        case "tracksTotal":
        case "discsTotal":
          break;
        case "raw":
          break;
        default:
          K(i);
      }
    if (t.raw)
      for (let i in t.raw) {
        let s = t.raw[i];
        s == null ||
          (!e && i.length !== 4) ||
          r.some((n) => n.key === i) ||
          (typeof s == "string"
            ? r.push({ key: i, value: H(s) })
            : s instanceof Uint8Array
              ? r.push({ key: i, value: g("data", [m(0), m(0), Array.from(s)]) })
              : s instanceof Je &&
                r.push({ key: i, value: g("data", [m(ci[s.mimeType] ?? 0), m(0), Array.from(s.data)]) }));
      }
    return r;
  },
  wn = (t) => {
    let e = yi(t, !1);
    return e.length === 0
      ? null
      : T("meta", 0, 0, void 0, [
          ir(!1, "mdir", "", "appl"),
          g(
            "ilst",
            void 0,
            e.map((r) => g(r.key, void 0, [r.value])),
          ),
        ]);
  },
  yn = (t) => {
    let e = yi(t, !0);
    return e.length === 0
      ? null
      : g("meta", void 0, [
          ir(!1, "mdta", ""),
          T(
            "keys",
            0,
            0,
            [m(e.length)],
            e.map((r) => g("mdta", [...B.encode(r.key)])),
          ),
          g(
            "ilst",
            void 0,
            e.map((r, i) => {
              let s = String.fromCharCode(...m(i + 1));
              return g(s, void 0, [r.value]);
            }),
          ),
        ]);
  },
  H = (t) => g("data", [m(1), m(0), ...B.encode(t)]),
  bn = (t, e) => {
    switch (t) {
      case "avc":
        return e.startsWith("avc3") ? "avc3" : "avc1";
      case "hevc":
        return "hvc1";
      case "vp8":
        return "vp08";
      case "vp9":
        return "vp09";
      case "av1":
        return "av01";
      case "prores":
        return e;
    }
  },
  xn = { avc: Ws, hevc: Ns, vp8: ai, vp9: ai, av1: Ls, prores: null },
  bi = (t, e, r) => {
    switch (t) {
      case "aac":
        return "mp4a";
      case "mp3":
        return "mp4a";
      case "opus":
        return "Opus";
      case "vorbis":
        return "mp4a";
      case "flac":
        return "fLaC";
      case "ulaw":
        return "ulaw";
      case "alaw":
        return "alaw";
      case "pcm-u8":
        return "raw ";
      case "pcm-s8":
        return "sowt";
      case "ac3":
        return "ac-3";
      case "eac3":
        return "ec-3";
      case "dts":
        return e;
    }
    if (r)
      switch (t) {
        case "pcm-s16":
          return "sowt";
        case "pcm-s16be":
          return "twos";
        case "pcm-s24":
          return "in24";
        case "pcm-s24be":
          return "in24";
        case "pcm-s32":
          return "in32";
        case "pcm-s32be":
          return "in32";
        case "pcm-f32":
          return "fl32";
        case "pcm-f32be":
          return "fl32";
        case "pcm-f64":
          return "fl64";
        case "pcm-f64be":
          return "fl64";
      }
    else
      switch (t) {
        case "pcm-s16":
          return "ipcm";
        case "pcm-s16be":
          return "ipcm";
        case "pcm-s24":
          return "ipcm";
        case "pcm-s24be":
          return "ipcm";
        case "pcm-s32":
          return "ipcm";
        case "pcm-s32be":
          return "ipcm";
        case "pcm-f32":
          return "fpcm";
        case "pcm-f32be":
          return "fpcm";
        case "pcm-f64":
          return "fpcm";
        case "pcm-f64be":
          return "fpcm";
      }
  },
  Tn = (t, e) => {
    switch (t) {
      case "aac":
        return Jt;
      case "mp3":
        return Jt;
      case "opus":
        return js;
      case "vorbis":
        return Jt;
      case "flac":
        return $s;
      case "ac3":
        return Gs;
      case "eac3":
        return Ks;
      case "dts":
        return Xs;
    }
    if (e)
      switch (t) {
        case "pcm-s24":
          return pe;
        case "pcm-s24be":
          return pe;
        case "pcm-s32":
          return pe;
        case "pcm-s32be":
          return pe;
        case "pcm-f32":
          return pe;
        case "pcm-f32be":
          return pe;
        case "pcm-f64":
          return pe;
        case "pcm-f64be":
          return pe;
      }
    else
      switch (t) {
        case "pcm-s16":
          return J;
        case "pcm-s16be":
          return J;
        case "pcm-s24":
          return J;
        case "pcm-s24be":
          return J;
        case "pcm-s32":
          return J;
        case "pcm-s32be":
          return J;
        case "pcm-f32":
          return J;
        case "pcm-f32be":
          return J;
        case "pcm-f64":
          return J;
        case "pcm-f64be":
          return J;
      }
    return null;
  },
  Cn = { webvtt: "wvtt" },
  Sn = { webvtt: Ys },
  xi = (t) => {
    f(t.length === 3);
    let e = 0;
    for (let r = 0; r < 3; r++) ((e <<= 5), (e += t.charCodeAt(r) - 96));
    return e;
  };
var Ee = class {
  constructor(e, r) {
    if (
      ((this.finalized = !1),
      (this.started = !1),
      (this.pos = 0),
      (this.trackedWrites = null),
      (this.trackedStart = -1),
      (this.trackedEnd = -1),
      e._writerAcquired)
    )
      throw new Error("Can't have multiple Writers for the same Target.");
    ((this.target = e), e._setMonotonicity(r), (e._writerAcquired = !0));
  }
  start() {
    (f(!this.started), this.target._start(), (this.started = !0));
  }
  write(e) {
    (f(this.started && !this.finalized),
      this.maybeTrackWrites(e),
      this.target._write(e, this.pos),
      (this.pos += e.byteLength));
  }
  seek(e) {
    this.pos = e;
  }
  getPos() {
    return this.pos;
  }
  async flush() {
    return (f(this.started && !this.finalized), this.target._flush());
  }
  async finalize() {
    (f(this.started && !this.finalized), await this.target._finalize(), (this.finalized = !0));
  }
  maybeTrackWrites(e) {
    if (!this.trackedWrites) return;
    let r = this.getPos();
    if (r < this.trackedStart) {
      if (r + e.byteLength <= this.trackedStart) return;
      ((e = e.subarray(this.trackedStart - r)), (r = 0));
    }
    let i = r + e.byteLength - this.trackedStart,
      s = this.trackedWrites.byteLength;
    for (; s < i;) s *= 2;
    if (s !== this.trackedWrites.byteLength) {
      let n = new Uint8Array(s);
      (n.set(this.trackedWrites, 0), (this.trackedWrites = n));
    }
    (this.trackedWrites.set(e, r - this.trackedStart), (this.trackedEnd = Math.max(this.trackedEnd, r + e.byteLength)));
  }
  startTrackingWrites() {
    ((this.trackedWrites = new Uint8Array(2 ** 10)),
      (this.trackedStart = this.getPos()),
      (this.trackedEnd = this.trackedStart));
  }
  stopTrackingWrites() {
    if (!this.trackedWrites) throw new Error("Internal error: Can't get tracked writes since nothing was tracked.");
    let r = {
      data: this.trackedWrites.subarray(0, this.trackedEnd - this.trackedStart),
      start: this.trackedStart,
      end: this.trackedEnd,
    };
    return ((this.trackedWrites = null), r);
  }
};
var V = class extends de {
    constructor() {
      (super(...arguments), (this._writerAcquired = !1), (this._monotonicity = null), (this.onwrite = null));
    }
    _setMonotonicity(e) {
      this._monotonicity !== !1 && (this._monotonicity = e);
    }
    _dispatchWrite(e, r) {
      (this.onwrite?.(e, r), this._emit("write", { start: e, end: r }));
    }
    slice(e) {
      if (!Number.isInteger(e) || e < 0) throw new TypeError("offset must be a non-negative integer.");
      return new Ft(this, e);
    }
  },
  or = 2 ** 16,
  ar = 2 ** 32,
  he = class extends V {
    constructor(e = {}) {
      if ((super(), (this.buffer = null), (this._maxPos = 0), !e || typeof e != "object"))
        throw new TypeError("BufferTarget options, when provided, must be an object.");
      if (e.onFinalize !== void 0 && typeof e.onFinalize != "function")
        throw new TypeError("options.onFinalize, when provided, must be a function.");
      if (((this._options = e), (this._supportsResize = "resize" in new ArrayBuffer(0)), this._supportsResize))
        try {
          this._buffer = new ArrayBuffer(or, { maxByteLength: ar });
        } catch {
          ((this._buffer = new ArrayBuffer(or)), (this._supportsResize = !1));
        }
      else this._buffer = new ArrayBuffer(or);
      this._bytes = new Uint8Array(this._buffer);
    }
    _ensureSize(e) {
      let r = this._buffer.byteLength;
      for (; r < e;) r *= 2;
      if (r !== this._buffer.byteLength) {
        if (r > ar)
          throw new Error(`ArrayBuffer exceeded maximum size of ${ar} bytes. Please consider using another target.`);
        if (this._supportsResize) this._buffer.resize(r);
        else {
          let i = new ArrayBuffer(r),
            s = new Uint8Array(i);
          (s.set(this._bytes, 0), (this._buffer = i), (this._bytes = s));
        }
      }
    }
    _start() {}
    _write(e, r) {
      (this._ensureSize(r + e.byteLength),
        this._bytes.set(e, r),
        (this._maxPos = Math.max(this._maxPos, r + e.byteLength)),
        this._dispatchWrite(r, r + e.byteLength));
    }
    async _flush() {}
    async _finalize() {
      ((this.buffer = this._buffer.slice(0, this._maxPos)),
        this._options.onFinalize && (await this._options.onFinalize(this.buffer)),
        this._emit("finalized"));
    }
    async _close() {}
    _getSlice(e, r) {
      return this._bytes.slice(e, r);
    }
  },
  Lo = 2 ** 24;
var Ft = class extends V {
    constructor(e, r) {
      (super(), (this._baseTarget = e), (this._offset = r));
    }
    _start() {}
    _write(e, r) {
      (this._baseTarget._write(e, this._offset + r), this._dispatchWrite(r, r + e.byteLength));
    }
    _flush() {
      return this._baseTarget._flush();
    }
    async _finalize() {
      this._emit("finalized");
    }
    async _close() {}
    _setMonotonicity(e) {
      (super._setMonotonicity(e), this._baseTarget._setMonotonicity(e));
    }
  },
  ke = class {
    constructor(e, r) {
      if (((this.rootPath = e), (this.getTarget = r), typeof e != "string"))
        throw new TypeError("rootPath must be a string.");
      if (typeof r != "function") throw new TypeError("getTarget must be a function.");
    }
  };
var O = 57600,
  _n = 2082844800,
  Ti = (t) => {
    let e = {},
      r = t.track;
    return (r.metadata.name !== void 0 && (e.name = r.metadata.name), e);
  },
  _ = (t, e, r = !0) => {
    let i = t * e;
    return r ? Math.round(i) : i;
  },
  _e = (t) => {
    if (t.samples.length === 0) return 0;
    let e = 1 / 0,
      r = -1 / 0;
    for (let i = 0; i < t.samples.length; i++) {
      let s = t.samples[i];
      (s.timestamp < e && (e = s.timestamp), s.timestamp + s.duration > r && (r = s.timestamp + s.duration));
    }
    return e === 1 / 0 ? 0 : r - e;
  },
  Rt = class extends De {
    constructor(e, r) {
      (super(e),
        (this.writer = null),
        (this.boxWriter = null),
        (this.initWriter = null),
        (this.initBoxWriter = null),
        (this.auxTarget = new he()),
        (this.auxWriter = new Ee(this.auxTarget, !1)),
        (this.auxBoxWriter = new Se(this.auxWriter)),
        (this.mdat = null),
        (this.ftypSize = null),
        (this.trackDatas = []),
        (this.allTracksKnown = wt()),
        (this.creationTime = Math.floor(Date.now() / 1e3) + _n),
        (this.finalizedChunks = []),
        (this.wroteFragmentedHeader = !1),
        (this.nextFragmentNumber = 1),
        (this.maxWrittenTimestamp = -1 / 0),
        (this.minWrittenTimestamp = 1 / 0),
        (this.maxWrittenEndTimestamp = -1 / 0),
        (this.segmentHeaderSize = null),
        (this.format = r),
        (this.formatOptions = { ...r._options }),
        (this.isQuickTime = r instanceof He),
        (this.isCmaf = r instanceof Le),
        (this.minimumFragmentDuration = this.formatOptions.minimumFragmentDuration ?? (r instanceof Le ? 1 / 0 : 1)),
        this.auxWriter.start());
    }
    async start() {
      let e = await this.mutex.acquire();
      if (
        (this.isCmaf
          ? ((this.fastStart = "fragmented"), (this.isFragmented = !0))
          : ((this.writer = await this.output._getRootWriter((i) =>
              this.formatOptions.fastStart !== void 0 ? this.formatOptions.fastStart === "fragmented" : i instanceof he,
            )),
            (this.boxWriter = new Se(this.writer)),
            (this.fastStart = this.formatOptions.fastStart ?? (this.writer.target instanceof he ? "in-memory" : !1)),
            (this.isFragmented = this.fastStart === "fragmented")),
        this.isCmaf)
      ) {
        if (!this.output._hasInitTarget())
          throw new Error(
            "CMAF outputs require the initTarget field in OutputOptions to be set; the init segment will be written to it.",
          );
        let i = await this.output._getInitTarget(),
          s = new Ee(i, !0);
        (s.start(), (this.initWriter = s), (this.initBoxWriter = new Se(s)));
      }
      let r = this.output.tracks.some((i) => i.isVideoTrack() && i.source._codec === "avc");
      {
        let i = this.initBoxWriter ?? this.boxWriter;
        if (
          (f(i),
          this.formatOptions.onFtyp && i.writer.startTrackingWrites(),
          i.writeBox(
            fi({ isQuickTime: this.isQuickTime, holdsAvc: r, fragmented: this.isFragmented, cmaf: this.isCmaf }),
          ),
          this.formatOptions.onFtyp)
        ) {
          let { data: s, start: n } = i.writer.stopTrackingWrites();
          this.formatOptions.onFtyp(s, n);
        }
        ((this.ftypSize = i.writer.getPos()), this.isCmaf && (await this.initWriter.flush()));
      }
      if (this.fastStart !== "in-memory")
        if (this.fastStart === "reserve") {
          for (let i of this.output.tracks)
            if (i.metadata.maximumPacketCount === void 0)
              throw new Error(
                "All tracks must specify maximumPacketCount in their metadata when using fastStart: 'reserve'.",
              );
        } else
          this.isFragmented ||
            (f(this.writer),
            f(this.boxWriter),
            this.formatOptions.onMdat && this.writer.startTrackingWrites(),
            (this.mdat = at(!0)),
            this.boxWriter.writeBox(this.mdat));
      await this.writer?.flush();
      for (let i of this.output.tracks)
        i.isVideoTrack() && i.metadata.decoderConfig
          ? this.getVideoTrackData(i, i.metadata.primingPacket ?? null, { decoderConfig: i.metadata.decoderConfig })
          : i.isAudioTrack() &&
            i.metadata.decoderConfig &&
            this.getAudioTrackData(i, i.metadata.primingPacket ?? null, { decoderConfig: i.metadata.decoderConfig });
      e();
    }
    allTracksAreKnown() {
      for (let e of this.output.tracks) if (!e.source._closed && !this.trackDatas.some((r) => r.track === e)) return !1;
      return !0;
    }
    async getMimeType() {
      await this.allTracksKnown.promise;
      let e = this.trackDatas.map((r) =>
        r.type === "video" || r.type === "audio"
          ? r.info.decoderConfig.codec
          : { webvtt: "wvtt" }[r.track.source._codec],
      );
      return Yr({
        isQuickTime: this.isQuickTime,
        hasVideo: this.trackDatas.some((r) => r.type === "video"),
        hasAudio: this.trackDatas.some((r) => r.type === "audio"),
        codecStrings: e,
      });
    }
    getVideoTrackData(e, r, i) {
      let s = this.trackDatas.find((A) => A.track === e);
      if (s) return s;
      (Oe(i, e.source._codec), f(i), f(i.decoderConfig));
      let n = { ...i.decoderConfig };
      (f(n.codedWidth !== void 0), f(n.codedHeight !== void 0));
      let o = !1;
      if (e.source._codec === "avc" && !n.description) {
        if (!r) throw new Error("No AVC description provided; you must therefore provide a priming packet.");
        let A = zr(r.data);
        if (!A)
          throw new Error(
            "Couldn't extract an AVCDecoderConfigurationRecord from the AVC packet. Make sure the packets are in Annex B format (as specified in ITU-T-REC-H.264) when not providing a description, or provide a description (must be an AVCDecoderConfigurationRecord as specified in ISO 14496-15) and ensure the packets are in AVCC format.",
          );
        ((n.description = Dr(A)), (o = !0));
      } else if (e.source._codec === "hevc" && !n.description) {
        if (!r) throw new Error("No HEVC description provided; you must therefore provide a priming packet.");
        let A = Nr(r.data);
        if (!A)
          throw new Error(
            "Couldn't extract an HEVCDecoderConfigurationRecord from the HEVC packet. Make sure the packets are in Annex B format (as specified in ITU-T-REC-H.265) when not providing a description, or provide a description (must be an HEVCDecoderConfigurationRecord as specified in ISO 14496-15) and ensure the packets are in HEVC format.",
          );
        ((n.description = Lr(A)), (o = !0));
      }
      let a = yr(1 / (e.metadata.frameRate ?? O), 1e6).den,
        c = n.displayAspectWidth,
        l = n.displayAspectHeight,
        u = c === void 0 || l === void 0 ? { num: 1, den: 1 } : bt({ num: c * n.codedHeight, den: l * n.codedWidth }),
        h = n.codec === "ap4h" || n.codec === "ap4x",
        y = {
          muxer: this,
          track: e,
          type: "video",
          info: {
            width: n.codedWidth,
            height: n.codedHeight,
            pixelAspectRatio: u,
            decoderConfig: n,
            requiresAnnexBTransformation: o,
            hasAlphaChannel: h,
          },
          timescale: a,
          samples: [],
          sampleQueue: [],
          timestampProcessingQueue: [],
          timeToSampleTable: [],
          compositionTimeOffsetTable: [],
          lastTimescaleUnits: null,
          lastSample: null,
          startTimestampOffset: null,
          finalizedChunks: [],
          currentChunk: null,
          compactlyCodedChunkTable: [],
          closed: !1,
          avgBitrate: e.source._nominalBitrate ?? e.metadata.averageBitrate ?? 0,
          maxBitrate: e.source._nominalBitrate ?? e.metadata.bitrate ?? 0,
        };
      return (
        this.trackDatas.push(y),
        this.trackDatas.sort((A, b) => A.track.id - b.track.id),
        this.allTracksAreKnown() && this.allTracksKnown.resolve(),
        y
      );
    }
    getAudioTrackData(e, r, i) {
      let s = this.trackDatas.find((c) => c.track === e);
      if (s) return s;
      (Ue(i, e.source._codec), f(i), f(i.decoderConfig));
      let n = { ...i.decoderConfig },
        o = !1;
      if (e.source._codec === "aac" && !n.description) {
        if (!r) throw new Error("No AAC description provided; you must therefore provide a priming packet.");
        let c = ze(me.tempFromBytes(r.data));
        if (!c)
          throw new Error(
            "Couldn't parse ADTS header from the AAC packet. Make sure the packets are in ADTS format (as specified in ISO 13818-7) when not providing a description, or provide a description (must be an AudioSpecificConfig as specified in ISO 14496-3) and ensure the packets are raw AAC data.",
          );
        let l = tt[c.samplingFrequencyIndex],
          u = rt[c.channelConfiguration];
        if (l === void 0 || u === void 0) throw new Error("Invalid ADTS frame header.");
        ((n.description = Tt({ objectType: c.objectType, outputSampleRate: l, outputNumberOfChannels: u })), (o = !0));
      }
      if (!r) {
        if (e.source._codec === "ac3" || e.source._codec === "eac3")
          throw new Error("AC-3/E-AC-3 require a priming packet.");
        if (e.source._codec === "dts") throw new Error("DTS requires a priming packet.");
      }
      let a = {
        muxer: this,
        track: e,
        type: "audio",
        info: {
          numberOfChannels: i.decoderConfig.numberOfChannels,
          sampleRate: i.decoderConfig.sampleRate,
          decoderConfig: n,
          requiresPcmTransformation: !this.isFragmented && U.includes(e.source._codec),
          expectedNextPcmPacketTimestamp: null,
          requiresAdtsStripping: o,
          primingPacket: r,
        },
        timescale: n.sampleRate,
        samples: [],
        sampleQueue: [],
        timestampProcessingQueue: [],
        timeToSampleTable: [],
        compositionTimeOffsetTable: [],
        lastTimescaleUnits: null,
        lastSample: null,
        startTimestampOffset: null,
        finalizedChunks: [],
        currentChunk: null,
        compactlyCodedChunkTable: [],
        closed: !1,
        avgBitrate: e.source._nominalBitrate ?? e.metadata.averageBitrate ?? 0,
        maxBitrate: e.source._nominalBitrate ?? e.metadata.bitrate ?? 0,
      };
      return (
        this.trackDatas.push(a),
        this.trackDatas.sort((c, l) => c.track.id - l.track.id),
        this.allTracksAreKnown() && this.allTracksKnown.resolve(),
        a
      );
    }
    getSubtitleTrackData(e, r) {
      let i = this.trackDatas.find((n) => n.track === e);
      if (i) return i;
      (Et(r), f(r), f(r.config));
      let s = {
        muxer: this,
        track: e,
        type: "subtitle",
        info: { config: r.config },
        timescale: 1e3,
        samples: [],
        sampleQueue: [],
        timestampProcessingQueue: [],
        timeToSampleTable: [],
        compositionTimeOffsetTable: [],
        lastTimescaleUnits: null,
        lastSample: null,
        startTimestampOffset: null,
        finalizedChunks: [],
        currentChunk: null,
        compactlyCodedChunkTable: [],
        closed: !1,
        avgBitrate: e.source._nominalBitrate ?? e.metadata.averageBitrate ?? 0,
        maxBitrate: e.source._nominalBitrate ?? e.metadata.bitrate ?? 0,
        lastCueEndTimestamp: null,
        cueQueue: [],
        nextSourceId: 0,
        cueToSourceId: new WeakMap(),
      };
      return (
        this.trackDatas.push(s),
        this.trackDatas.sort((n, o) => n.track.id - o.track.id),
        this.allTracksAreKnown() && this.allTracksKnown.resolve(),
        s
      );
    }
    async addEncodedVideoPacket(e, r, i) {
      let s = await this.mutex.acquire();
      try {
        let n = this.getVideoTrackData(e, r, i),
          o = r.data;
        if (n.info.requiresAnnexBTransformation) {
          let c = [...Ct(o)].map((l) => o.subarray(l.offset, l.offset + l.length));
          if (c.length === 0)
            throw new Error(
              "Failed to transform packet data. Make sure all packets are provided in Annex B format, as specified in ITU-T-REC-H.264 and ITU-T-REC-H.265.",
            );
          o = Vr(c, 4);
        }
        this.validateTimestamp(n.track, r.timestamp, r.type === "key");
        let a = this.createSampleForTrack(n, o, r.timestamp, r.duration, r.type);
        await this.registerSample(n, a);
      } finally {
        s();
      }
    }
    async addEncodedAudioPacket(e, r, i) {
      let s = await this.mutex.acquire();
      try {
        let n = this.getAudioTrackData(e, r, i),
          o = r.data;
        if (n.info.requiresAdtsStripping) {
          let u = ze(me.tempFromBytes(o));
          if (!u) throw new Error("Expected ADTS frame, didn't get one.");
          let h = u.crcCheck === null ? Bt : Pt;
          o = o.subarray(h);
        }
        this.validateTimestamp(n.track, r.timestamp, r.type === "key");
        let a = r.timestamp,
          c = r.duration;
        if (n.info.requiresPcmTransformation) {
          let h = N(n.info.decoderConfig.codec).sampleSize * n.info.numberOfChannels;
          if (((c = o.byteLength / h / n.info.sampleRate), n.info.expectedNextPcmPacketTimestamp !== null)) {
            let y = a - n.info.expectedNextPcmPacketTimestamp;
            if (y < 0.01) a = n.info.expectedNextPcmPacketTimestamp;
            else {
              let A = await this.padWithSilence(n, n.info.expectedNextPcmPacketTimestamp, y);
              a = n.info.expectedNextPcmPacketTimestamp + A;
            }
          }
          n.info.expectedNextPcmPacketTimestamp = a + c;
        }
        let l = this.createSampleForTrack(n, o, a, c, r.type);
        await this.registerSample(n, l);
      } finally {
        s();
      }
    }
    async padWithSilence(e, r, i) {
      let s = _(i, e.timescale);
      if (((i = s / e.timescale), s > 0)) {
        let { sampleSize: n, silentValue: o } = N(e.info.decoderConfig.codec),
          a = s * e.info.numberOfChannels,
          c = new Uint8Array(n * a).fill(o),
          l = this.createSampleForTrack(e, new Uint8Array(c.buffer), r, i, "key");
        await this.registerSample(e, l);
      }
      return i;
    }
    async addSubtitleCue(e, r, i) {
      let s = await this.mutex.acquire();
      try {
        let n = this.getSubtitleTrackData(e, i);
        (this.validateTimestamp(n.track, r.timestamp, !0),
          e.source._codec === "webvtt" && (n.cueQueue.push(r), await this.processWebVTTCues(n, r.timestamp)));
      } finally {
        s();
      }
    }
    async processWebVTTCues(e, r) {
      for (; e.cueQueue.length > 0;) {
        e.lastCueEndTimestamp ??= Math.min(0, e.cueQueue[0].timestamp);
        let i = new Set([]);
        for (let l of e.cueQueue)
          (f(l.timestamp <= r),
            f(e.lastCueEndTimestamp <= l.timestamp + l.duration),
            i.add(Math.max(l.timestamp, e.lastCueEndTimestamp)),
            i.add(l.timestamp + l.duration));
        let s = [...i].sort((l, u) => l - u),
          n = s[0],
          o = s[1] ?? n;
        if (r < o) break;
        if (e.lastCueEndTimestamp < n) {
          this.auxWriter.seek(0);
          let l = gi();
          this.auxBoxWriter.writeBox(l);
          let u = this.auxTarget._getSlice(0, this.auxWriter.getPos()),
            h = this.createSampleForTrack(e, u, e.lastCueEndTimestamp, n - e.lastCueEndTimestamp, "key");
          (await this.registerSample(e, h), (e.lastCueEndTimestamp = n));
        }
        this.auxWriter.seek(0);
        for (let l = 0; l < e.cueQueue.length; l++) {
          let u = e.cueQueue[l];
          if (u.timestamp >= o) break;
          We.lastIndex = 0;
          let h = We.test(u.text),
            y = u.timestamp + u.duration,
            A = e.cueToSourceId.get(u);
          if ((A === void 0 && o < y && ((A = e.nextSourceId++), e.cueToSourceId.set(u, A)), u.notes)) {
            let C = wi(u.notes);
            this.auxBoxWriter.writeBox(C);
          }
          let b = Ai(u.text, h ? n : null, u.identifier ?? null, u.settings ?? null, A ?? null);
          (this.auxBoxWriter.writeBox(b), y === o && e.cueQueue.splice(l--, 1));
        }
        let a = this.auxTarget._getSlice(0, this.auxWriter.getPos()),
          c = this.createSampleForTrack(e, a, n, o - n, "key");
        (await this.registerSample(e, c), (e.lastCueEndTimestamp = o));
      }
    }
    createSampleForTrack(e, r, i, s, n) {
      return {
        timestamp: i,
        decodeTimestamp: i,
        duration: s,
        data: r,
        size: r.byteLength,
        type: n,
        timescaleUnitsToNextSample: _(s, e.timescale),
      };
    }
    processTimestamps(e, r) {
      if (e.timestampProcessingQueue.length === 0) return;
      if (e.type === "audio" && e.info.requiresPcmTransformation) {
        (f(!this.isFragmented), (e.startTimestampOffset ??= e.timestampProcessingQueue[0].timestamp));
        let s = 0;
        for (let n = 0; n < e.timestampProcessingQueue.length; n++) {
          let o = e.timestampProcessingQueue[n],
            a = _(o.duration, e.timescale);
          s += a;
        }
        if (e.timeToSampleTable.length === 0) e.timeToSampleTable.push({ sampleCount: s, sampleDelta: 1 });
        else {
          let n = j(e.timeToSampleTable);
          n.sampleCount += s;
        }
        e.timestampProcessingQueue.length = 0;
        return;
      }
      let i = e.timestampProcessingQueue.map((s) => s.timestamp).sort((s, n) => s - n);
      this.isFragmented ? (e.startTimestampOffset ??= Math.min(i[0], 0)) : (e.startTimestampOffset ??= i[0]);
      for (let s = 0; s < e.timestampProcessingQueue.length; s++) {
        let n = e.timestampProcessingQueue[s];
        n.decodeTimestamp = i[s];
        let o = _(n.timestamp - n.decodeTimestamp, e.timescale),
          a = _(n.duration, e.timescale);
        if (e.lastTimescaleUnits !== null) {
          f(e.lastSample);
          let c = _(n.decodeTimestamp, e.timescale, !1),
            l = Math.round(c - e.lastTimescaleUnits);
          if (
            (f(l >= 0), (e.lastTimescaleUnits += l), (e.lastSample.timescaleUnitsToNextSample = l), !this.isFragmented)
          ) {
            let u = j(e.timeToSampleTable);
            if ((f(u), u.sampleCount === 1)) {
              u.sampleDelta = l;
              let y = e.timeToSampleTable[e.timeToSampleTable.length - 2];
              y && y.sampleDelta === l && (y.sampleCount++, e.timeToSampleTable.pop(), (u = y));
            } else
              u.sampleDelta !== l &&
                (u.sampleCount--, e.timeToSampleTable.push((u = { sampleCount: 1, sampleDelta: l })));
            u.sampleDelta === a ? u.sampleCount++ : e.timeToSampleTable.push({ sampleCount: 1, sampleDelta: a });
            let h = j(e.compositionTimeOffsetTable);
            (f(h),
              h.sampleCompositionTimeOffset === o
                ? h.sampleCount++
                : e.compositionTimeOffsetTable.push({ sampleCount: 1, sampleCompositionTimeOffset: o }));
          }
        } else
          ((e.lastTimescaleUnits = _(n.decodeTimestamp, e.timescale, !1)),
            this.isFragmented ||
              (e.timeToSampleTable.push({ sampleCount: 1, sampleDelta: a }),
              e.compositionTimeOffsetTable.push({ sampleCount: 1, sampleCompositionTimeOffset: o })));
        e.lastSample = n;
      }
      if (
        ((e.timestampProcessingQueue.length = 0),
        f(e.lastSample),
        f(e.lastTimescaleUnits !== null),
        r !== void 0 && e.lastSample.timescaleUnitsToNextSample === 0)
      ) {
        f(r.type === "key");
        let s = _(r.timestamp, e.timescale, !1),
          n = Math.round(s - e.lastTimescaleUnits);
        e.lastSample.timescaleUnitsToNextSample = n;
      }
    }
    async registerSample(e, r) {
      (r.type === "key" && this.processTimestamps(e, r),
        e.timestampProcessingQueue.push(r),
        this.isFragmented
          ? (e.sampleQueue.push(r), await this.interleaveSamples())
          : this.fastStart === "reserve"
            ? await this.registerSampleFastStartReserve(e, r)
            : await this.addSampleToTrack(e, r));
    }
    async addSampleToTrack(e, r) {
      if (!this.isFragmented && (e.samples.push(r), this.fastStart === "reserve")) {
        let s = e.track.metadata.maximumPacketCount;
        if ((f(s !== void 0), e.samples.length > s))
          throw new Error(
            `Track #${e.track.id} has already reached the maximum packet count (${s}). Either add less packets or increase the maximum packet count.`,
          );
      }
      let i = !1;
      if (!e.currentChunk) i = !0;
      else {
        e.currentChunk.startTimestamp = Math.min(e.currentChunk.startTimestamp, r.timestamp);
        let s = r.timestamp - e.currentChunk.startTimestamp;
        if (this.isFragmented) {
          let n = this.trackDatas.every((o) => {
            if (e === o) return r.type === "key";
            let a = o.sampleQueue[0];
            return a ? a.type === "key" : o.closed;
          });
          s >= this.minimumFragmentDuration &&
            n &&
            r.timestamp > this.maxWrittenTimestamp &&
            ((i = !0), await this.finalizeFragment());
        } else i = s >= 0.5;
      }
      (i &&
        (e.currentChunk && (await this.finalizeCurrentChunk(e)),
        (e.currentChunk = {
          startTimestamp: r.timestamp,
          samples: [],
          offset: null,
          moofOffset: null,
          trafIndex: null,
        })),
        f(e.currentChunk),
        e.currentChunk.samples.push(r),
        this.isFragmented &&
          ((this.maxWrittenTimestamp = Math.max(this.maxWrittenTimestamp, r.timestamp)),
          (this.maxWrittenEndTimestamp = Math.max(this.maxWrittenEndTimestamp, r.timestamp + r.duration)),
          (this.minWrittenTimestamp = Math.min(this.minWrittenTimestamp, r.timestamp))));
    }
    async finalizeCurrentChunk(e) {
      if ((f(!this.isFragmented), f(this.writer), !e.currentChunk)) return;
      (e.finalizedChunks.push(e.currentChunk), this.finalizedChunks.push(e.currentChunk));
      let r = e.currentChunk.samples.length;
      if (
        (e.type === "audio" &&
          e.info.requiresPcmTransformation &&
          (r = e.currentChunk.samples.reduce((i, s) => i + _(s.duration, e.timescale), 0)),
        (e.compactlyCodedChunkTable.length === 0 || j(e.compactlyCodedChunkTable).samplesPerChunk !== r) &&
          e.compactlyCodedChunkTable.push({ firstChunk: e.finalizedChunks.length, samplesPerChunk: r }),
        this.fastStart === "in-memory")
      ) {
        e.currentChunk.offset = 0;
        return;
      }
      e.currentChunk.offset = this.writer.getPos();
      for (let i of e.currentChunk.samples) (f(i.data), this.writer.write(i.data), (i.data = null));
      await this.writer.flush();
    }
    async interleaveSamples(e = !1) {
      if ((f(this.isFragmented), !(!e && !this.allTracksAreKnown())))
        e: for (;;) {
          let r = null,
            i = 1 / 0;
          for (let n of this.trackDatas) {
            if (!e && n.sampleQueue.length === 0 && !n.closed) break e;
            n.sampleQueue.length > 0 && n.sampleQueue[0].timestamp < i && ((r = n), (i = n.sampleQueue[0].timestamp));
          }
          if (!r) break;
          let s = r.sampleQueue.shift();
          await this.addSampleToTrack(r, s);
        }
    }
    async finalizeFragment(e = !this.isCmaf) {
      if ((f(this.isFragmented), !this.wroteFragmentedHeader)) {
        this.wroteFragmentedHeader = !0;
        let A = this.initBoxWriter ?? this.boxWriter;
        (f(A), this.formatOptions.onMoov && A.writer.startTrackingWrites(), this.ensureOneEnabledTrack());
        let b = Ne(this);
        if ((A.writeBox(b), this.formatOptions.onMoov)) {
          let { data: C, start: v } = A.writer.stopTrackingWrites();
          this.formatOptions.onMoov(C, v);
        }
        if (this.isCmaf) {
          (f(this.initWriter),
            await this.initWriter.flush(),
            await this.initWriter.finalize(),
            (this.writer = await this.output._getRootWriter(!0)),
            (this.boxWriter = new Se(this.writer)));
          let C = this.boxWriter.measureBox(tr()),
            v = this.boxWriter.measureBox(rr(this, 0));
          ((this.segmentHeaderSize = C + v), this.writer.seek(this.segmentHeaderSize));
        }
      }
      (f(this.writer), f(this.boxWriter));
      let r = this.trackDatas.filter((A) => A.currentChunk);
      if (r.length === 0) {
        e && (await this.writer.flush());
        return;
      }
      let i = this.nextFragmentNumber++,
        s = nr(i, r),
        n = this.writer.getPos(),
        o = n + this.boxWriter.measureBox(s),
        a = o + kt,
        c = 1 / 0;
      for (let A = 0; A < r.length; A++) {
        let b = r[A];
        (f(b.currentChunk),
          f(b.startTimestampOffset !== null),
          (b.currentChunk.offset = a),
          (b.currentChunk.moofOffset = n),
          (b.currentChunk.trafIndex = A),
          (b.currentChunk.startTimestamp -= b.startTimestampOffset));
        for (let C of b.currentChunk.samples)
          ((a += C.size), (C.timestamp -= b.startTimestampOffset), (C.decodeTimestamp -= b.startTimestampOffset));
        c = Math.min(c, b.currentChunk.startTimestamp);
      }
      let l = a - o,
        u = l >= 2 ** 32;
      if (u) for (let A of r) A.currentChunk.offset += Xt - kt;
      this.formatOptions.onMoof && this.writer.startTrackingWrites();
      let h = nr(i, r);
      if ((this.boxWriter.writeBox(h), this.formatOptions.onMoof)) {
        let { data: A, start: b } = this.writer.stopTrackingWrites();
        this.formatOptions.onMoof(A, b, c);
      }
      (f(this.writer.getPos() === o), this.formatOptions.onMdat && this.writer.startTrackingWrites());
      let y = at(u);
      ((y.size = l), this.boxWriter.writeBox(y), this.writer.seek(o + (u ? Xt : kt)));
      for (let A of r) for (let b of A.currentChunk.samples) (this.writer.write(b.data), (b.data = null));
      if (this.formatOptions.onMdat) {
        let { data: A, start: b } = this.writer.stopTrackingWrites();
        this.formatOptions.onMdat(A, b);
      }
      for (let A of r)
        (A.finalizedChunks.push(A.currentChunk), this.finalizedChunks.push(A.currentChunk), (A.currentChunk = null));
      e && (await this.writer.flush());
    }
    async registerSampleFastStartReserve(e, r) {
      this.allTracksAreKnown()
        ? (this.mdat || (await this.createFastStartReserveMdat()), await this.addSampleToTrack(e, r))
        : e.sampleQueue.push(r);
    }
    async createFastStartReserveMdat() {
      (f(this.writer), f(this.boxWriter), this.ensureOneEnabledTrack());
      let e = Ne(this),
        i = this.boxWriter.measureBox(e) + this.computeSampleTableSizeUpperBound() + 4096;
      (f(this.ftypSize !== null),
        this.writer.seek(this.ftypSize + i),
        this.formatOptions.onMdat && this.writer.startTrackingWrites(),
        (this.mdat = at(!0)),
        this.boxWriter.writeBox(this.mdat));
      for (let s of this.trackDatas) {
        for (let n of s.sampleQueue) await this.addSampleToTrack(s, n);
        s.sampleQueue.length = 0;
      }
    }
    computeSampleTableSizeUpperBound() {
      f(this.fastStart === "reserve");
      let e = 0;
      for (let r of this.trackDatas) {
        let i = r.track.metadata.maximumPacketCount;
        (f(i !== void 0),
          (e += 8 * Math.ceil((2 / 3) * i)),
          (e += 4 * i),
          (e += 8 * Math.ceil((2 / 3) * i)),
          (e += 12 * Math.ceil((2 / 3) * i)),
          (e += 4 * i),
          (e += 8 * i));
      }
      return e;
    }
    async onTrackClose(e) {
      let r = await this.mutex.acquire(),
        i = this.trackDatas.find((s) => s.track === e);
      (i &&
        ((i.closed = !0),
        i.type === "subtitle" && e.source._codec === "webvtt" && (await this.processWebVTTCues(i, 1 / 0)),
        this.processTimestamps(i)),
        this.allTracksAreKnown() && this.allTracksKnown.resolve(),
        this.isFragmented && (await this.interleaveSamples()),
        r());
    }
    ensureOneEnabledTrack() {
      for (let e of ["video", "audio", "subtitle"]) {
        let r = this.trackDatas.filter((s) => s.type === e);
        if (r.length === 0) continue;
        if (!r.some((s) => s.track.metadata.disposition?.default !== !1)) {
          let s = r[0];
          s.track.metadata.disposition = { ...s.track.metadata.disposition, default: !0 };
        }
      }
    }
    async forceFragmentFinalization() {
      f(this.isFragmented);
      let e = await this.mutex.acquire();
      try {
        for (let r of this.trackDatas)
          (r.type === "subtitle" && r.track.source._codec === "webvtt" && (await this.processWebVTTCues(r, 1 / 0)),
            this.processTimestamps(r));
        (await this.interleaveSamples(!0), await this.finalizeFragment());
      } finally {
        e();
      }
    }
    async finalize() {
      let e = await this.mutex.acquire();
      (this.allTracksKnown.resolve(),
        this.ensureOneEnabledTrack(),
        !this.mdat && this.fastStart === "reserve" && (await this.createFastStartReserveMdat()));
      for (let r of this.trackDatas)
        ((r.closed = !0),
          r.type === "subtitle" && r.track.source._codec === "webvtt" && (await this.processWebVTTCues(r, 1 / 0)),
          this.processTimestamps(r));
      if (this.isFragmented) (await this.interleaveSamples(!0), await this.finalizeFragment(!1));
      else
        for (let r of this.trackDatas) {
          await this.finalizeCurrentChunk(r);
          let i = _e(r);
          if (i > 0) {
            let a = 0;
            for (let c of r.samples) a += c.size;
            r.avgBitrate = Math.round((8 * a) / i);
          } else r.avgBitrate = 0;
          let s = 0,
            n = 0,
            o = 0;
          for (let a = 0; a < r.samples.length; a++) {
            let c = r.samples[a];
            for (n += c.size; c.decodeTimestamp - r.samples[s].decodeTimestamp >= 1;) ((n -= r.samples[s].size), s++);
            o = Math.max(o, n);
          }
          if (((r.maxBitrate = 8 * o), r.startTimestampOffset !== null))
            for (let a = 0; a < r.samples.length; a++) {
              let c = r.samples[a];
              ((c.timestamp -= r.startTimestampOffset), (c.decodeTimestamp -= r.startTimestampOffset));
            }
        }
      if ((f(this.writer), f(this.boxWriter), this.fastStart === "in-memory")) {
        this.mdat = at(!1);
        let r;
        for (let s = 0; s < 2; s++) {
          let n = Ne(this),
            o = this.boxWriter.measureBox(n);
          r = this.boxWriter.measureBox(this.mdat);
          let a = this.writer.getPos() + o + r;
          for (let c of this.finalizedChunks) {
            c.offset = a;
            for (let { data: l } of c.samples) (f(l), (a += l.byteLength), (r += l.byteLength));
          }
          if (a < 2 ** 32) break;
          r >= 2 ** 32 && (this.mdat.largeSize = !0);
        }
        this.formatOptions.onMoov && this.writer.startTrackingWrites();
        let i = Ne(this);
        if ((this.boxWriter.writeBox(i), this.formatOptions.onMoov)) {
          let { data: s, start: n } = this.writer.stopTrackingWrites();
          this.formatOptions.onMoov(s, n);
        }
        (this.formatOptions.onMdat && this.writer.startTrackingWrites(),
          (this.mdat.size = r),
          this.boxWriter.writeBox(this.mdat));
        for (let s of this.finalizedChunks)
          for (let n of s.samples) (f(n.data), this.writer.write(n.data), (n.data = null));
        if (this.formatOptions.onMdat) {
          let { data: s, start: n } = this.writer.stopTrackingWrites();
          this.formatOptions.onMdat(s, n);
        }
      } else if (this.isFragmented)
        if (this.isCmaf) {
          let r = this.segmentHeaderSize !== null ? this.writer.getPos() - this.segmentHeaderSize : 0;
          (this.writer.seek(0), this.boxWriter.writeBox(tr()), this.boxWriter.writeBox(rr(this, r)));
        } else {
          let r = this.writer.getPos(),
            i = hi(this.trackDatas);
          this.boxWriter.writeBox(i);
          let s = this.writer.getPos() - r;
          (this.writer.seek(this.writer.getPos() - 4), this.boxWriter.writeU32(s));
        }
      else {
        f(this.mdat);
        let r = this.boxWriter.offsets.get(this.mdat);
        f(r !== void 0);
        let i = this.writer.getPos() - r;
        if (
          ((this.mdat.size = i),
          (this.mdat.largeSize = i >= 2 ** 32),
          this.boxWriter.patchBox(this.mdat),
          this.formatOptions.onMdat)
        ) {
          let { data: n, start: o } = this.writer.stopTrackingWrites();
          this.formatOptions.onMdat(n, o);
        }
        let s = Ne(this);
        if (this.fastStart === "reserve") {
          (f(this.ftypSize !== null),
            this.writer.seek(this.ftypSize),
            this.formatOptions.onMoov && this.writer.startTrackingWrites(),
            this.boxWriter.writeBox(s));
          let n = this.boxWriter.offsets.get(this.mdat) - this.writer.getPos();
          this.boxWriter.writeBox(mi(n));
        } else (this.formatOptions.onMoov && this.writer.startTrackingWrites(), this.boxWriter.writeBox(s));
        if (this.formatOptions.onMoov) {
          let { data: n, start: o } = this.writer.stopTrackingWrites();
          this.formatOptions.onMoov(n, o);
        }
      }
      e();
    }
  };
var En = -(2 ** 15),
  kn = 2 ** 15 - 1,
  Ci = 6,
  Si = 5,
  vn = { video: 1, audio: 2, subtitle: 17 },
  Mt = class extends De {
    constructor(e, r) {
      (super(e),
        (this.trackDatas = []),
        (this.allTracksKnown = wt()),
        (this.segment = null),
        (this.segmentInfo = null),
        (this.seekHead = null),
        (this.tracksElement = null),
        (this.tagsElement = null),
        (this.attachmentsElement = null),
        (this.segmentDuration = null),
        (this.cues = null),
        (this.currentCluster = null),
        (this.currentClusterStartMsTimestamp = null),
        (this.currentClusterMaxMsTimestamp = null),
        (this.trackDatasInCurrentCluster = new Map()),
        (this.startTimestamp = 1 / 0),
        (this.endTimestamp = -1 / 0),
        (this.warnedAboutTooNegativeTimestamp = !1),
        (this.format = r));
    }
    async start() {
      let e = await this.mutex.acquire();
      ((this.writer = await this.output._getRootWriter(!!this.format._options.appendOnly)),
        (this.ebmlWriter = new vt(this.writer)),
        this.writeEBMLHeader(),
        this.createSegmentInfo(),
        this.createCues(),
        await this.writer.flush());
      for (let r of this.output.tracks)
        r.isVideoTrack() && r.metadata.decoderConfig
          ? this.getVideoTrackData(r, r.metadata.primingPacket ?? null, { decoderConfig: r.metadata.decoderConfig })
          : r.isAudioTrack() &&
            r.metadata.decoderConfig &&
            this.getAudioTrackData(r, r.metadata.primingPacket ?? null, { decoderConfig: r.metadata.decoderConfig });
      e();
    }
    writeEBMLHeader() {
      this.format._options.onEbmlHeader && this.writer.startTrackingWrites();
      let e = {
        id: d.EBML,
        data: [
          { id: d.EBMLVersion, data: 1 },
          { id: d.EBMLReadVersion, data: 1 },
          { id: d.EBMLMaxIDLength, data: 4 },
          { id: d.EBMLMaxSizeLength, data: 8 },
          { id: d.DocType, data: this.format instanceof ge ? "webm" : "matroska" },
          { id: d.DocTypeVersion, data: 4 },
          { id: d.DocTypeReadVersion, data: 2 },
        ],
      };
      if ((this.ebmlWriter.writeEBML(e), this.format._options.onEbmlHeader)) {
        let { data: r, start: i } = this.writer.stopTrackingWrites();
        this.format._options.onEbmlHeader(r, i);
      }
    }
    maybeCreateSeekHead(e) {
      if (this.format._options.appendOnly) return;
      let r = new Uint8Array([28, 83, 187, 107]),
        i = new Uint8Array([21, 73, 169, 102]),
        s = new Uint8Array([22, 84, 174, 107]),
        n = new Uint8Array([25, 65, 164, 105]),
        o = new Uint8Array([18, 84, 195, 103]),
        a = {
          id: d.SeekHead,
          data: [
            {
              id: d.Seek,
              data: [
                { id: d.SeekID, data: i },
                {
                  id: d.SeekPosition,
                  size: 5,
                  data: e ? this.ebmlWriter.offsets.get(this.segmentInfo) - this.segmentDataOffset : 0,
                },
              ],
            },
            {
              id: d.Seek,
              data: [
                { id: d.SeekID, data: s },
                {
                  id: d.SeekPosition,
                  size: 5,
                  data: e ? this.ebmlWriter.offsets.get(this.tracksElement) - this.segmentDataOffset : 0,
                },
              ],
            },
            this.attachmentsElement
              ? {
                  id: d.Seek,
                  data: [
                    { id: d.SeekID, data: n },
                    {
                      id: d.SeekPosition,
                      size: 5,
                      data: e ? this.ebmlWriter.offsets.get(this.attachmentsElement) - this.segmentDataOffset : 0,
                    },
                  ],
                }
              : null,
            this.tagsElement
              ? {
                  id: d.Seek,
                  data: [
                    { id: d.SeekID, data: o },
                    {
                      id: d.SeekPosition,
                      size: 5,
                      data: e ? this.ebmlWriter.offsets.get(this.tagsElement) - this.segmentDataOffset : 0,
                    },
                  ],
                }
              : null,
            {
              id: d.Seek,
              data: [
                { id: d.SeekID, data: r },
                {
                  id: d.SeekPosition,
                  size: 5,
                  data: e ? this.ebmlWriter.offsets.get(this.cues) - this.segmentDataOffset : 0,
                },
              ],
            },
          ],
        };
      this.seekHead = a;
    }
    createSegmentInfo() {
      let e = { id: d.Duration, data: new Ve(0) };
      this.segmentDuration = e;
      let r = {
        id: d.Info,
        data: [
          { id: d.TimestampScale, data: 1e6 },
          { id: d.MuxingApp, data: Te },
          { id: d.WritingApp, data: Te },
          this.format._options.appendOnly ? null : e,
        ],
      };
      this.segmentInfo = r;
    }
    createTracks() {
      let e = { id: d.Tracks, data: [] };
      this.tracksElement = e;
      for (let r of this.trackDatas) {
        let i = ri[r.track.source._codec];
        (f(i),
          r.type === "audio" &&
            r.track.source._codec === "dts" &&
            (r.info.decoderConfig.codec === "dtse"
              ? (i = "A_DTS/EXPRESS")
              : r.info.decoderConfig.codec === "dtsl" && (i = "A_DTS/LOSSLESS")));
        let s = 0;
        if (r.type === "audio" && r.track.source._codec === "opus") {
          s = 1e6 * 80;
          let n = r.info.decoderConfig.description;
          if (n) {
            let o = W(n),
              a = St(o);
            s = Math.round(1e9 * (a.preSkip / Gr));
          }
        }
        e.data.push({
          id: d.TrackEntry,
          data: [
            { id: d.TrackNumber, data: r.track.id },
            { id: d.TrackUID, data: r.track.id },
            { id: d.TrackType, data: vn[r.type] },
            r.track.metadata.disposition?.default === !1 ? { id: d.FlagDefault, data: 0 } : null,
            r.track.metadata.disposition?.forced ? { id: d.FlagForced, data: 1 } : null,
            r.track.metadata.disposition?.hearingImpaired ? { id: d.FlagHearingImpaired, data: 1 } : null,
            r.track.metadata.disposition?.visuallyImpaired ? { id: d.FlagVisualImpaired, data: 1 } : null,
            r.track.metadata.disposition?.original ? { id: d.FlagOriginal, data: 1 } : null,
            r.track.metadata.disposition?.commentary ? { id: d.FlagCommentary, data: 1 } : null,
            { id: d.FlagLacing, data: 0 },
            { id: d.Language, data: r.track.metadata.languageCode ?? yt },
            { id: d.CodecID, data: i },
            r.codecPrivate ? { id: d.CodecPrivate, data: W(r.codecPrivate) } : null,
            s > 0 ? { id: d.SeekPreRoll, data: s } : null,
            r.track.metadata.name !== void 0 ? { id: d.Name, data: new L(r.track.metadata.name) } : null,
            r.type === "video" ? this.videoSpecificTrackInfo(r) : null,
            r.type === "audio" ? this.audioSpecificTrackInfo(r) : null,
            r.type === "subtitle" ? this.subtitleSpecificTrackInfo(r) : null,
          ],
        });
      }
    }
    videoSpecificTrackInfo(e) {
      let { frameRate: r, transformationMatrix: i } = e.track.metadata,
        s = [r ? { id: d.DefaultDuration, data: 1e9 / r } : null],
        n,
        o,
        a;
      if (i) {
        n = fr(i);
        let b = Ie(gt(-n), i);
        ((o = Math.sign(b[0])), (a = Math.sign(b[4])), a === -1 && ((a = 1), (o = -o), (n = ht(n + 180))));
      } else ((n = e.track.metadata.rotation ?? 0), (o = e.track.metadata.flip ? -1 : 1), (a = 1));
      let c = n ? ht(o === -1 ? n : -n) : 0,
        l = Math.round(Math.acos(o) * pt),
        u = Math.round(Math.acos(a) * pt),
        h = !!e.info.aspectRatio && e.info.aspectRatio.num * e.info.height !== e.info.aspectRatio.den * e.info.width,
        y = e.info.decoderConfig.colorSpace,
        A = {
          id: d.Video,
          data: [
            { id: d.PixelWidth, data: e.info.width },
            { id: d.PixelHeight, data: e.info.height },
            h ? { id: d.DisplayWidth, data: e.info.aspectRatio.num } : null,
            h ? { id: d.DisplayHeight, data: e.info.aspectRatio.den } : null,
            h ? { id: d.DisplayUnit, data: 3 } : null,
            e.info.alphaMode ? { id: d.AlphaMode, data: 1 } : null,
            At(y)
              ? null
              : {
                  id: d.Colour,
                  data: [
                    { id: d.MatrixCoefficients, data: y?.matrix != null ? xe[y.matrix] : 2 },
                    { id: d.TransferCharacteristics, data: y?.transfer != null ? be[y.transfer] : 2 },
                    { id: d.Primaries, data: y?.primaries != null ? ye[y.primaries] : 2 },
                    { id: d.Range, data: y?.fullRange != null ? (y.fullRange ? 2 : 1) : 0 },
                  ],
                },
            c || l || u
              ? {
                  id: d.Projection,
                  data: [
                    { id: d.ProjectionType, data: 0 },
                    l ? { id: d.ProjectionPoseYaw, data: new fe(l) } : null,
                    u ? { id: d.ProjectionPosePitch, data: new fe(u) } : null,
                    c ? { id: d.ProjectionPoseRoll, data: new fe(((c + 180) % 360) - 180) } : null,
                  ],
                }
              : null,
          ],
        };
      return (s.push(A), s);
    }
    audioSpecificTrackInfo(e) {
      let r = U.includes(e.track.source._codec) ? N(e.track.source._codec) : null;
      return [
        {
          id: d.Audio,
          data: [
            { id: d.SamplingFrequency, data: new fe(e.info.sampleRate) },
            { id: d.Channels, data: e.info.numberOfChannels },
            r ? { id: d.BitDepth, data: 8 * r.sampleSize } : null,
          ],
        },
      ];
    }
    subtitleSpecificTrackInfo(e) {
      return [];
    }
    maybeCreateTags() {
      let e = [],
        r = (n, o) => {
          e.push({
            id: d.SimpleTag,
            data: [
              { id: d.TagName, data: new L(n) },
              typeof o == "string" ? { id: d.TagString, data: new L(o) } : { id: d.TagBinary, data: o },
            ],
          });
        },
        i = this.output._metadataTags,
        s = new Set();
      for (let { key: n, value: o } of Me(i))
        switch (n) {
          case "title":
            (r("TITLE", o), s.add("TITLE"));
            break;
          case "description":
            (r("DESCRIPTION", o), s.add("DESCRIPTION"));
            break;
          case "artist":
            (r("ARTIST", o), s.add("ARTIST"));
            break;
          case "album":
            (r("ALBUM", o), s.add("ALBUM"));
            break;
          case "albumArtist":
            (r("ALBUM_ARTIST", o), s.add("ALBUM_ARTIST"));
            break;
          case "genre":
            (r("GENRE", o), s.add("GENRE"));
            break;
          case "beatsPerMinute":
            (r("BPM", o.toString()), s.add("BPM"));
            break;
          case "comment":
            (r("COMMENT", o), s.add("COMMENT"));
            break;
          case "lyrics":
            (r("LYRICS", o), s.add("LYRICS"));
            break;
          case "date":
            (r("DATE", o.toISOString().slice(0, 10)), s.add("DATE"));
            break;
          case "trackNumber":
            {
              let a = i.tracksTotal !== void 0 ? `${o}/${i.tracksTotal}` : o.toString();
              (r("PART_NUMBER", a), s.add("PART_NUMBER"));
            }
            break;
          case "discNumber":
            {
              let a = i.discsTotal !== void 0 ? `${o}/${i.discsTotal}` : o.toString();
              (r("DISC", a), s.add("DISC"));
            }
            break;
          case "tracksTotal":
          case "discsTotal":
            break;
          case "images":
          case "raw":
            break;
          default:
            K(n);
        }
      if (i.raw)
        for (let n in i.raw) {
          let o = i.raw[n];
          o == null || s.has(n) || ((typeof o == "string" || o instanceof Uint8Array) && r(n, o));
        }
      e.length !== 0 &&
        (this.tagsElement = {
          id: d.Tags,
          data: [
            {
              id: d.Tag,
              data: [
                {
                  id: d.Targets,
                  data: [
                    { id: d.TargetTypeValue, data: 50 },
                    { id: d.TargetType, data: "MOVIE" },
                  ],
                },
                ...e,
              ],
            },
          ],
        });
    }
    maybeCreateAttachments() {
      let e = this.output._metadataTags,
        r = [],
        i = new Set(),
        s = e.images ?? [];
      for (let n of s) {
        let o = n.name;
        o === void 0 &&
          (o =
            (n.kind === "coverFront" ? "cover" : n.kind === "coverBack" ? "back" : "image") + (br(n.mimeType) ?? ""));
        let a;
        for (;;) {
          a = 0n;
          for (let c = 0; c < 8; c++) ((a <<= 8n), (a |= BigInt(Math.floor(Math.random() * 256))));
          if (a !== 0n && !i.has(a)) break;
        }
        (i.add(a),
          r.push({
            id: d.AttachedFile,
            data: [
              n.description !== void 0 ? { id: d.FileDescription, data: new L(n.description) } : null,
              { id: d.FileName, data: new L(o) },
              { id: d.FileMediaType, data: n.mimeType },
              { id: d.FileData, data: n.data },
              { id: d.FileUID, data: a },
            ],
          }));
      }
      for (let [n, o] of Object.entries(e.raw ?? {}))
        !(o instanceof et) ||
          !/^\d+$/.test(n) ||
          s.find((c) => c.mimeType === o.mimeType && xr(c.data, o.data)) ||
          r.push({
            id: d.AttachedFile,
            data: [
              o.description !== void 0 ? { id: d.FileDescription, data: new L(o.description) } : null,
              { id: d.FileName, data: new L(o.name ?? "") },
              { id: d.FileMediaType, data: o.mimeType ?? "" },
              { id: d.FileData, data: o.data },
              { id: d.FileUID, data: BigInt(n) },
            ],
          });
      r.length !== 0 && (this.attachmentsElement = { id: d.Attachments, data: r });
    }
    createSegment() {
      (this.createTracks(), this.maybeCreateTags(), this.maybeCreateAttachments(), this.maybeCreateSeekHead(!1));
      let e = {
        id: d.Segment,
        size: this.format._options.appendOnly ? -1 : Ci,
        data: [this.seekHead, this.segmentInfo, this.tracksElement, this.attachmentsElement, this.tagsElement],
      };
      if (
        ((this.segment = e),
        this.format._options.onSegmentHeader && this.writer.startTrackingWrites(),
        this.ebmlWriter.writeEBML(e),
        this.format._options.onSegmentHeader)
      ) {
        let { data: r, start: i } = this.writer.stopTrackingWrites();
        this.format._options.onSegmentHeader(r, i);
      }
    }
    createCues() {
      this.cues = { id: d.Cues, data: [] };
    }
    get segmentDataOffset() {
      return (f(this.segment), this.ebmlWriter.dataOffsets.get(this.segment));
    }
    allTracksAreKnown() {
      for (let e of this.output.tracks) if (!e.source._closed && !this.trackDatas.some((r) => r.track === e)) return !1;
      return !0;
    }
    async getMimeType() {
      await this.allTracksKnown.promise;
      let e = this.trackDatas.map((r) =>
        r.type === "video" || r.type === "audio"
          ? r.info.decoderConfig.codec
          : { webvtt: "wvtt" }[r.track.source._codec],
      );
      return ii({
        isWebM: this.format instanceof ge,
        hasVideo: this.trackDatas.some((r) => r.type === "video"),
        hasAudio: this.trackDatas.some((r) => r.type === "audio"),
        codecStrings: e,
      });
    }
    getVideoTrackData(e, r, i) {
      let s = this.trackDatas.find((l) => l.track === e);
      if (s) return s;
      (Oe(i, e.source._codec),
        f(i),
        f(i.decoderConfig),
        f(i.decoderConfig.codedWidth !== void 0),
        f(i.decoderConfig.codedHeight !== void 0));
      let n = i.decoderConfig.displayAspectWidth,
        o = i.decoderConfig.displayAspectHeight,
        a = n === void 0 || o === void 0 ? null : bt({ num: n, den: o }),
        c = {
          track: e,
          type: "video",
          info: {
            width: i.decoderConfig.codedWidth,
            height: i.decoderConfig.codedHeight,
            aspectRatio: a,
            decoderConfig: i.decoderConfig,
            alphaMode: e.metadata.canBeTransparent || (r ? !!r.sideData.alpha : null),
          },
          chunkQueue: [],
          lastWrittenMsTimestamp: null,
          codecPrivate: i.decoderConfig.description ?? null,
          closed: !1,
        };
      return (
        e.source._codec === "vp9"
          ? (c.codecPrivate = new Uint8Array($r(c.info.decoderConfig.codec)))
          : e.source._codec === "av1"
            ? (c.codecPrivate = new Uint8Array(_t(c.info.decoderConfig.codec)))
            : e.source._codec === "prores" && (c.codecPrivate = B.encode(i.decoderConfig.codec)),
        this.trackDatas.push(c),
        this.trackDatas.sort((l, u) => l.track.id - u.track.id),
        this.allTracksAreKnown() && this.allTracksKnown.resolve(),
        c
      );
    }
    getAudioTrackData(e, r, i) {
      let s = this.trackDatas.find((c) => c.track === e);
      if (s) return s;
      (Ue(i, e.source._codec), f(i), f(i.decoderConfig));
      let n = { ...i.decoderConfig },
        o = !1;
      if (e.source._codec === "aac" && !n.description) {
        if (!r) throw new Error("No AAC description provided; you must therefore provide a priming packet.");
        let c = ze(me.tempFromBytes(r.data));
        if (!c)
          throw new Error(
            "Couldn't parse ADTS header from the AAC packet. Make sure the packets are in ADTS format (as specified in ISO 13818-7) when not providing a description, or provide a description (must be an AudioSpecificConfig as specified in ISO 14496-3) and ensure the packets are raw AAC data.",
          );
        let l = tt[c.samplingFrequencyIndex],
          u = rt[c.channelConfiguration];
        if (l === void 0 || u === void 0) throw new Error("Invalid ADTS frame header.");
        ((n.description = Tt({ objectType: c.objectType, outputSampleRate: l, outputNumberOfChannels: u })), (o = !0));
      }
      let a = {
        track: e,
        type: "audio",
        info: {
          numberOfChannels: i.decoderConfig.numberOfChannels,
          sampleRate: i.decoderConfig.sampleRate,
          decoderConfig: n,
          requiresAdtsStripping: o,
        },
        chunkQueue: [],
        lastWrittenMsTimestamp: null,
        codecPrivate: n.description ?? null,
        closed: !1,
      };
      return (
        this.trackDatas.push(a),
        this.trackDatas.sort((c, l) => c.track.id - l.track.id),
        this.allTracksAreKnown() && this.allTracksKnown.resolve(),
        a
      );
    }
    getSubtitleTrackData(e, r) {
      let i = this.trackDatas.find((n) => n.track === e);
      if (i) return i;
      (Et(r), f(r), f(r.config));
      let s = {
        track: e,
        type: "subtitle",
        info: { config: r.config },
        chunkQueue: [],
        lastWrittenMsTimestamp: null,
        codecPrivate: B.encode(r.config.description),
        closed: !1,
      };
      return (
        this.trackDatas.push(s),
        this.trackDatas.sort((n, o) => n.track.id - o.track.id),
        this.allTracksAreKnown() && this.allTracksKnown.resolve(),
        s
      );
    }
    async addEncodedVideoPacket(e, r, i) {
      let s = await this.mutex.acquire();
      try {
        let n = this.getVideoTrackData(e, r, i);
        n.info.alphaMode ??= !!r.sideData.alpha;
        let o = r.data;
        if (e.source._codec === "prores") {
          if (o.byteLength < 8) throw new Error("ProRes packet too small, expected at least 8 bytes.");
          o = o.subarray(8);
        }
        let a = r.type === "key";
        this.validateTimestamp(n.track, r.timestamp, a);
        let c = r.timestamp,
          l = r.duration;
        e.metadata.frameRate !== void 0 && ((c = Ht(c, e.metadata.frameRate)), (l = Ht(l, e.metadata.frameRate)));
        let u = n.info.alphaMode ? (r.sideData.alpha ?? null) : null,
          h = this.createInternalChunk(o, c, l, r.type, u);
        (e.source._codec === "vp9" && this.fixVP9ColorSpace(n, h), n.chunkQueue.push(h), await this.interleaveChunks());
      } finally {
        s();
      }
    }
    async addEncodedAudioPacket(e, r, i) {
      let s = await this.mutex.acquire();
      try {
        let n = this.getAudioTrackData(e, r, i),
          o = r.data;
        if (n.info.requiresAdtsStripping) {
          let l = ze(me.tempFromBytes(o));
          if (!l) throw new Error("Expected ADTS frame, didn't get one.");
          let u = l.crcCheck === null ? Bt : Pt;
          o = o.subarray(u);
        }
        let a = r.type === "key";
        this.validateTimestamp(n.track, r.timestamp, a);
        let c = this.createInternalChunk(o, r.timestamp, r.duration, r.type);
        (n.chunkQueue.push(c), await this.interleaveChunks());
      } finally {
        s();
      }
    }
    async addSubtitleCue(e, r, i) {
      let s = await this.mutex.acquire();
      try {
        let n = this.getSubtitleTrackData(e, i);
        this.validateTimestamp(n.track, r.timestamp, !0);
        let o = r.text,
          a = Math.round(r.timestamp * 1e3);
        ((We.lastIndex = 0),
          (o = o.replace(We, (h) => {
            let A = ni(h.slice(1, -1)) - a;
            return `<${It(A)}>`;
          })));
        let c = B.encode(o),
          l = `${r.settings ?? ""}
${r.identifier ?? ""}
${r.notes ?? ""}`,
          u = this.createInternalChunk(c, r.timestamp, r.duration, "key", l.trim() ? B.encode(l) : null);
        (n.chunkQueue.push(u), await this.interleaveChunks());
      } finally {
        s();
      }
    }
    async interleaveChunks(e = !1) {
      if (!(!e && !this.allTracksAreKnown())) {
        e: for (;;) {
          let r = null,
            i = 1 / 0;
          for (let n of this.trackDatas) {
            if (!e && n.chunkQueue.length === 0 && !n.closed) break e;
            n.chunkQueue.length > 0 && n.chunkQueue[0].timestamp < i && ((r = n), (i = n.chunkQueue[0].timestamp));
          }
          if (!r) break;
          let s = r.chunkQueue.shift();
          this.writeBlock(r, s);
        }
        e || (await this.writer.flush());
      }
    }
    fixVP9ColorSpace(e, r) {
      if (r.type !== "key" || !e.info.decoderConfig.colorSpace || !e.info.decoderConfig.colorSpace.matrix) return;
      let i = new k(r.data);
      i.skipBits(2);
      let s = i.readBits(1),
        o = (i.readBits(1) << 1) + s;
      if (
        (o === 3 && i.skipBits(1), i.readBits(1) || i.readBits(1) !== 0 || (i.skipBits(2), i.readBits(24) !== 4817730))
      )
        return;
      o >= 2 && i.skipBits(1);
      let u = { rgb: 7, bt709: 2, bt470bg: 1, smpte170m: 3 }[e.info.decoderConfig.colorSpace.matrix];
      hr(r.data, i.pos, i.pos + 3, u);
    }
    createInternalChunk(e, r, i, s, n = null) {
      return { data: e, type: s, timestamp: r, duration: i, additions: n };
    }
    writeBlock(e, r) {
      this.segment || this.createSegment();
      let i = Math.round(1e3 * r.timestamp),
        s = this.trackDatas.every((h) => {
          if (e === h) return r.type === "key";
          let y = h.chunkQueue[0];
          return y ? y.type === "key" : h.closed;
        }),
        n = !1;
      if (!this.currentCluster) n = !0;
      else {
        (f(this.currentClusterStartMsTimestamp !== null), f(this.currentClusterMaxMsTimestamp !== null));
        let h = i - this.currentClusterStartMsTimestamp;
        n =
          (s &&
            i > this.currentClusterMaxMsTimestamp &&
            h >= 1e3 * (this.format._options.minimumClusterDuration ?? 1)) ||
          h > kn;
      }
      n && this.createNewCluster(i);
      let o = i - this.currentClusterStartMsTimestamp;
      if (o < En) {
        if (!this.warnedAboutTooNegativeTimestamp) {
          let h = this.format instanceof ge ? "WebM" : "Matroska";
          (F._warn(`Packets had to be discarded because their timestamp is too negative to represent in ${h}.`),
            (this.warnedAboutTooNegativeTimestamp = !0));
        }
        return;
      }
      let a = new Uint8Array(4),
        c = new DataView(a.buffer);
      (c.setUint8(0, 128 | e.track.id), c.setInt16(1, o, !1));
      let l = Math.round(1e3 * r.duration);
      if (!!r.additions || e.type === "subtitle") {
        let h = {
          id: d.BlockGroup,
          data: [
            { id: d.Block, data: [a, r.data] },
            r.type === "delta" ? { id: d.ReferenceBlock, data: new ot(e.lastWrittenMsTimestamp - i) } : null,
            r.additions
              ? {
                  id: d.BlockAdditions,
                  data: [
                    {
                      id: d.BlockMore,
                      data: [
                        { id: d.BlockAddID, data: 1 },
                        { id: d.BlockAdditional, data: r.additions },
                      ],
                    },
                  ],
                }
              : null,
            l > 0 ? { id: d.BlockDuration, data: l } : null,
          ],
        };
        this.ebmlWriter.writeEBML(h);
      } else {
        c.setUint8(3, +(r.type === "key") << 7);
        let h = { id: d.SimpleBlock, data: [a, r.data] };
        this.ebmlWriter.writeEBML(h);
      }
      ((this.startTimestamp = Math.min(this.startTimestamp, i)),
        (this.endTimestamp = Math.max(this.endTimestamp, i + l)),
        (e.lastWrittenMsTimestamp = i),
        this.trackDatasInCurrentCluster.has(e) || this.trackDatasInCurrentCluster.set(e, { firstMsTimestamp: i }),
        (this.currentClusterMaxMsTimestamp = Math.max(this.currentClusterMaxMsTimestamp, i)));
    }
    createNewCluster(e) {
      ((e = Math.max(0, e)),
        this.currentCluster && this.finalizeCurrentCluster(),
        this.format._options.onCluster && this.writer.startTrackingWrites(),
        (this.currentCluster = {
          id: d.Cluster,
          size: this.format._options.appendOnly ? -1 : Si,
          data: [{ id: d.Timestamp, data: e }],
        }),
        this.ebmlWriter.writeEBML(this.currentCluster),
        (this.currentClusterStartMsTimestamp = e),
        (this.currentClusterMaxMsTimestamp = e),
        this.trackDatasInCurrentCluster.clear());
    }
    finalizeCurrentCluster() {
      if ((f(this.currentCluster), !this.format._options.appendOnly)) {
        let s = this.writer.getPos() - this.ebmlWriter.dataOffsets.get(this.currentCluster),
          n = this.writer.getPos();
        (this.writer.seek(this.ebmlWriter.offsets.get(this.currentCluster) + 4),
          this.ebmlWriter.writeVarInt(s, Si),
          this.writer.seek(n));
      }
      if (this.format._options.onCluster) {
        f(this.currentClusterStartMsTimestamp !== null);
        let { data: s, start: n } = this.writer.stopTrackingWrites();
        this.format._options.onCluster(s, n, this.currentClusterStartMsTimestamp / 1e3);
      }
      let e = this.ebmlWriter.offsets.get(this.currentCluster) - this.segmentDataOffset,
        r = new Map();
      for (let [s, { firstMsTimestamp: n }] of this.trackDatasInCurrentCluster)
        (r.has(n) || r.set(n, []), r.get(n).push(s));
      let i = [...r.entries()].sort((s, n) => s[0] - n[0]);
      for (let [s, n] of i)
        (f(this.cues),
          this.cues.data.push({
            id: d.CuePoint,
            data: [
              { id: d.CueTime, data: Math.max(0, s) },
              ...n.map((o) => ({
                id: d.CueTrackPositions,
                data: [
                  { id: d.CueTrack, data: o.track.id },
                  { id: d.CueClusterPosition, data: e },
                ],
              })),
            ],
          }));
    }
    async onTrackClose(e) {
      let r = await this.mutex.acquire(),
        i = this.trackDatas.find((s) => s.track === e);
      (i && (i.closed = !0),
        this.allTracksAreKnown() && this.allTracksKnown.resolve(),
        await this.interleaveChunks(),
        r());
    }
    async finalize() {
      let e = await this.mutex.acquire();
      this.allTracksKnown.resolve();
      for (let r of this.trackDatas) r.closed = !0;
      if (
        (this.segment || this.createSegment(),
        await this.interleaveChunks(!0),
        this.currentCluster && this.finalizeCurrentCluster(),
        f(this.cues),
        this.ebmlWriter.writeEBML(this.cues),
        !this.format._options.appendOnly)
      ) {
        let r = this.writer.getPos() - this.segmentDataOffset;
        (this.writer.seek(this.ebmlWriter.offsets.get(this.segment) + 4), this.ebmlWriter.writeVarInt(r, Ci));
        let i = this.startTimestamp === 1 / 0 ? 0 : this.endTimestamp;
        ((this.segmentDuration.data = new Ve(i)),
          this.writer.seek(this.ebmlWriter.offsets.get(this.segmentDuration)),
          this.ebmlWriter.writeEBML(this.segmentDuration),
          f(this.seekHead),
          this.writer.seek(this.ebmlWriter.offsets.get(this.seekHead)),
          this.maybeCreateSeekHead(!0),
          this.ebmlWriter.writeEBML(this.seekHead));
      }
      e();
    }
  };
var qe = class {
    constructor() {
      ((this._connectedTrack = null),
        (this._closingPromise = null),
        (this._closed = !1),
        (this._nominalBitrate = null));
    }
    _ensureValidAdd() {
      if (!this._connectedTrack) throw new Error("Source is not connected to an output track.");
      if (this._connectedTrack.output.state === "canceled") throw new Error("Output has been canceled.");
      if (this._connectedTrack.output.state === "finalizing" || this._connectedTrack.output.state === "finalized")
        throw new Error("Output has been finalized.");
      if (this._connectedTrack.output.state === "pending") throw new Error("Output has not started.");
      if (this._closed) throw new Error("Source is closed.");
    }
    async _start() {}
    async _flushAndClose(e) {}
    close() {
      if (this._closingPromise) return;
      let e = this._connectedTrack;
      if (!e) throw new Error("Cannot call close without connecting the source to an output track.");
      if (e.output.state === "pending") throw new Error("Cannot call close before output has been started.");
      this._closingPromise = (async () => {
        (await this._flushAndClose(!1),
          (this._closed = !0),
          !(e.output.state === "finalizing" || e.output.state === "finalized") && e.output._muxer.onTrackClose(e));
      })();
    }
    async _flushOrWaitForOngoingClose(e) {
      return (this._closingPromise ??= (async () => {
        (await this._flushAndClose(e), (this._closed = !0));
      })());
    }
  },
  Qe = class extends qe {
    constructor(e) {
      if ((super(), !Y.includes(e)))
        throw new TypeError(`Invalid video codec '${e}'. Must be one of: ${Y.join(", ")}.`);
      this._codec = e;
    }
  },
  Bn = (t, e) => {
    if (t.metadata.hasOnlyKeyPackets && e.type !== "key")
      throw new Error("Cannot add non-key packets to a hasOnlyKeyPackets video track.");
  },
  Ot = class extends Qe {
    constructor(e) {
      super(e);
    }
    add(e, r) {
      if (!(e instanceof ce)) throw new TypeError("packet must be an EncodedPacket.");
      if (e.isMetadataOnly) throw new TypeError("Metadata-only packets cannot be added.");
      if (r !== void 0 && (!r || typeof r != "object")) throw new TypeError("meta, when provided, must be an object.");
      return (
        this._ensureValidAdd(),
        Bn(this._connectedTrack, e),
        this._connectedTrack.output._muxer.addEncodedVideoPacket(this._connectedTrack, e, r)
      );
    }
  };
var ct = class extends qe {
  constructor(e) {
    if ((super(), !Ce.includes(e)))
      throw new TypeError(`Invalid audio codec '${e}'. Must be one of: ${Ce.join(", ")}.`);
    this._codec = e;
  }
};
var lt = class extends qe {
  constructor(e) {
    if ((super(), !ae.includes(e)))
      throw new TypeError(`Invalid subtitle codec '${e}'. Must be one of: ${ae.join(", ")}.`);
    this._codec = e;
  }
};
var ve = class {
    get supportsVideoRotationMetadata() {
      return this.supportsVideoTransformationMetadata;
    }
    getSupportedVideoCodecs() {
      return this.getSupportedCodecs().filter((e) => Y.includes(e));
    }
    getSupportedAudioCodecs() {
      return this.getSupportedCodecs().filter((e) => Ce.includes(e));
    }
    getSupportedSubtitleCodecs() {
      return this.getSupportedCodecs().filter((e) => ae.includes(e));
    }
    _codecUnsupportedHint(e) {
      return "";
    }
    _isFragmentedIsobmff() {
      return !1;
    }
  },
  je = class extends ve {
    constructor(e = {}) {
      if (!e || typeof e != "object") throw new TypeError("options must be an object.");
      if (e.fastStart !== void 0 && ![!1, "in-memory", "reserve", "fragmented"].includes(e.fastStart))
        throw new TypeError(
          "options.fastStart, when provided, must be false, 'in-memory', 'reserve', or 'fragmented'.",
        );
      if (e.minimumFragmentDuration !== void 0 && (!Qt(e.minimumFragmentDuration) || e.minimumFragmentDuration < 0))
        throw new TypeError("options.minimumFragmentDuration, when provided, must be a non-negative number.");
      if (e.onFtyp !== void 0 && typeof e.onFtyp != "function")
        throw new TypeError("options.onFtyp, when provided, must be a function.");
      if (e.onMoov !== void 0 && typeof e.onMoov != "function")
        throw new TypeError("options.onMoov, when provided, must be a function.");
      if (e.onMdat !== void 0 && typeof e.onMdat != "function")
        throw new TypeError("options.onMdat, when provided, must be a function.");
      if (e.onMoof !== void 0 && typeof e.onMoof != "function")
        throw new TypeError("options.onMoof, when provided, must be a function.");
      if (e.metadataFormat !== void 0 && !["mdir", "mdta", "udta", "auto"].includes(e.metadataFormat))
        throw new TypeError("options.metadataFormat, when provided, must be either 'auto', 'mdir', 'mdta', or 'udta'.");
      (super(), (this._options = e));
    }
    getSupportedTrackCounts() {
      return {
        video: { min: 0, max: 4294967295 },
        audio: { min: 0, max: 4294967295 },
        subtitle: { min: 0, max: 4294967295 },
        total: { min: 0, max: 4294967295 },
      };
    }
    get supportsVideoTransformationMetadata() {
      return !0;
    }
    get supportsTimestampedMediaData() {
      return !0;
    }
    get negativeTimestampSupport() {
      return "full";
    }
    _createMuxer(e) {
      return new Rt(e, this);
    }
    _isFragmentedIsobmff() {
      return this._options.fastStart === "fragmented";
    }
  },
  ut = class extends je {
    constructor(e) {
      super(e);
    }
    get _name() {
      return "MP4";
    }
    get fileExtension() {
      return ".mp4";
    }
    get mimeType() {
      return "video/mp4";
    }
    getSupportedCodecs() {
      return [
        ...Y,
        ...nt,
        "pcm-s16",
        "pcm-s16be",
        "pcm-s24",
        "pcm-s24be",
        "pcm-s32",
        "pcm-s32be",
        "pcm-f32",
        "pcm-f32be",
        "pcm-f64",
        "pcm-f64be",
        ...ae,
      ];
    }
    _codecUnsupportedHint(e) {
      return new He().getSupportedCodecs().includes(e) ? " Switching to MOV will grant support for this codec." : "";
    }
  },
  Le = class extends je {
    constructor(e) {
      super(e);
    }
    get _name() {
      return "CMAF";
    }
    get fileExtension() {
      return ".m4s";
    }
    get mimeType() {
      return "video/mp4";
    }
    getSupportedCodecs() {
      return [
        ...Y,
        ...nt,
        "pcm-s16",
        "pcm-s16be",
        "pcm-s24",
        "pcm-s24be",
        "pcm-s32",
        "pcm-s32be",
        "pcm-f32",
        "pcm-f32be",
        "pcm-f64",
        "pcm-f64be",
        ...ae,
      ];
    }
  },
  He = class extends je {
    constructor(e) {
      super(e);
    }
    get _name() {
      return "MOV";
    }
    get fileExtension() {
      return ".mov";
    }
    get mimeType() {
      return "video/quicktime";
    }
    getSupportedCodecs() {
      return [...Y, ...Ce];
    }
    _codecUnsupportedHint(e) {
      return new ut().getSupportedCodecs().includes(e) ? " Switching to MP4 will grant support for this codec." : "";
    }
  },
  dt = class extends ve {
    constructor(e = {}) {
      if (!e || typeof e != "object") throw new TypeError("options must be an object.");
      if (e.appendOnly !== void 0 && typeof e.appendOnly != "boolean")
        throw new TypeError("options.appendOnly, when provided, must be a boolean.");
      if (e.minimumClusterDuration !== void 0 && (!Qt(e.minimumClusterDuration) || e.minimumClusterDuration < 0))
        throw new TypeError("options.minimumClusterDuration, when provided, must be a non-negative number.");
      if (e.onEbmlHeader !== void 0 && typeof e.onEbmlHeader != "function")
        throw new TypeError("options.onEbmlHeader, when provided, must be a function.");
      if (e.onSegmentHeader !== void 0 && typeof e.onSegmentHeader != "function")
        throw new TypeError("options.onHeader, when provided, must be a function.");
      if (e.onCluster !== void 0 && typeof e.onCluster != "function")
        throw new TypeError("options.onCluster, when provided, must be a function.");
      (super(), (this._options = e));
    }
    _createMuxer(e) {
      return new Mt(e, this);
    }
    get _name() {
      return "Matroska";
    }
    getSupportedTrackCounts() {
      return {
        video: { min: 0, max: 127 },
        audio: { min: 0, max: 127 },
        subtitle: { min: 0, max: 127 },
        total: { min: 0, max: 127 },
      };
    }
    get fileExtension() {
      return ".mkv";
    }
    get mimeType() {
      return "video/x-matroska";
    }
    getSupportedCodecs() {
      return [
        ...Y,
        ...nt,
        ...U.filter((e) => !["pcm-s8", "pcm-f32be", "pcm-f64be", "ulaw", "alaw"].includes(e)),
        ...ae,
      ];
    }
    get supportsVideoTransformationMetadata() {
      return !1;
    }
    get supportsTimestampedMediaData() {
      return !0;
    }
    get negativeTimestampSupport() {
      return "prefer-non-negative";
    }
  },
  ge = class extends dt {
    constructor(e) {
      super(e);
    }
    getSupportedCodecs() {
      return [
        ...Y.filter((e) => ["vp8", "vp9", "av1"].includes(e)),
        ...Ce.filter((e) => ["opus", "vorbis"].includes(e)),
        ...ae,
      ];
    }
    get _name() {
      return "WebM";
    }
    get fileExtension() {
      return ".webm";
    }
    get mimeType() {
      return "video/webm";
    }
    _codecUnsupportedHint(e) {
      return new dt().getSupportedCodecs().includes(e) ? " Switching to MKV will grant support for this codec." : "";
    }
  };
var _i = ["video", "audio", "subtitle"],
  $e = class t {
    constructor(e, r, i, s, n) {
      ((this.id = e), (this.output = r), (this.type = i), (this.source = s), (this.metadata = n));
    }
    isVideoTrack() {
      return this.type === "video";
    }
    isAudioTrack() {
      return this.type === "audio";
    }
    isSubtitleTrack() {
      return this.type === "subtitle";
    }
    canBePairedWith(e) {
      if (!(e instanceof t)) throw new TypeError("other must be an OutputTrack.");
      if (this === e) return !1;
      let r = xt(this.metadata.group),
        i = xt(e.metadata.group);
      for (let s of r)
        if ((this.type !== e.type && i.some((a) => s === a)) || i.some((a) => s._pairedGroups.has(a))) return !0;
      return !1;
    }
  },
  Ut = class extends $e {
    constructor(e, r, i, s) {
      super(e, r, "video", i, s);
    }
  },
  Vt = class extends $e {
    constructor(e, r, i, s) {
      super(e, r, "audio", i, s);
    }
  },
  zt = class extends $e {
    constructor(e, r, i, s) {
      super(e, r, "subtitle", i, s);
    }
  },
  Ge = class t {
    constructor() {
      this._pairedGroups = new Set();
    }
    pairWith(e) {
      if (!(e instanceof t)) throw new TypeError("other must be an OutputTrackGroup.");
      if (this === e) throw new TypeError("Cannot pair a group with itself.");
      (this._pairedGroups.add(e), e._pairedGroups.add(this));
    }
  },
  cr = (t) => {
    if (!t || typeof t != "object") throw new TypeError("metadata must be an object.");
    if (t.languageCode !== void 0 && !wr(t.languageCode))
      throw new TypeError("metadata.languageCode, when provided, must be a three-letter, ISO 639-2/T language code.");
    if (t.name !== void 0 && typeof t.name != "string")
      throw new TypeError("metadata.name, when provided, must be a string.");
    if (
      (t.disposition !== void 0 && Sr(t.disposition),
      t.maximumPacketCount !== void 0 && (!Number.isInteger(t.maximumPacketCount) || t.maximumPacketCount < 0))
    )
      throw new TypeError("metadata.maximumPacketCount, when provided, must be a non-negative integer.");
    if (t.bitrate !== void 0 && (!Number.isFinite(t.bitrate) || t.bitrate < 0))
      throw new TypeError("metadata.bitrate, when provided, must be a non-negative number.");
    if (t.averageBitrate !== void 0 && (!Number.isFinite(t.averageBitrate) || t.averageBitrate < 0))
      throw new TypeError("metadata.averageBitrate, when provided, must be a non-negative number.");
    if (
      t.group !== void 0 &&
      !(t.group instanceof Ge) &&
      (!Array.isArray(t.group) || t.group.some((e) => !(e instanceof Ge)))
    )
      throw new TypeError(
        "metadata.group, when provided, must be an OutputTrackGroup instance or an array of OutputTrackGroup instances.",
      );
  },
  Dt = class extends de {
    get target() {
      let e =
        "Output.target cannot be used when using PathedTarget with an async callback. Use the 'target' event instead.";
      if (this._rootTargetPromise) throw new TypeError(e);
      let r = this._getRootTarget();
      if (Re(r)) throw new TypeError(e);
      return r;
    }
    constructor(e) {
      if (
        (super(),
        (this.state = "pending"),
        (this.defaultTrackGroup = new Ge()),
        (this.tracks = []),
        (this._onFinalize = null),
        (this._unfinalizedTargets = new Set()),
        (this._rootWriterPromise = null),
        (this._startPromise = null),
        (this._cancelPromise = null),
        (this._finalizePromise = null),
        (this._mutex = new Fe()),
        (this._metadataTags = {}),
        (this._rootTarget = null),
        (this._rootTargetPromise = null),
        (this._firstMediaStreamTimestamp = null),
        !e || typeof e != "object")
      )
        throw new TypeError("options must be an object.");
      if (!(e.format instanceof ve)) throw new TypeError("options.format must be an OutputFormat.");
      if (!(e.target instanceof V || e.target instanceof ke))
        throw new TypeError("options.target must be a Target or a PathedTarget.");
      if (
        (e.target instanceof V && this._rememberTarget(e.target),
        e.initTarget !== void 0 && !(e.initTarget instanceof V) && typeof e.initTarget != "function")
      )
        throw new Error(
          "options.initTarget, when provided, must be a Target or a function that returns or resolves to a Target.",
        );
      if (e.onFinalize !== void 0 && typeof e.onFinalize != "function")
        throw new TypeError("options.onFinalize, when provided, must be a function.");
      ((this.format = e.format),
        (this._target = e.target),
        (this._onFinalize = e.onFinalize ?? null),
        (this._initTarget = e.initTarget ?? null),
        this._initTarget instanceof V && this._rememberTarget(this._initTarget),
        (this._muxer = e.format._createMuxer(this)));
    }
    _getTargetValidated(e) {
      f(this._target instanceof ke);
      let r = this._target.getTarget(e),
        i = (s) => {
          if (!(s instanceof V)) throw new TypeError("getTarget must return a Target.");
          return s;
        };
      return Re(r) ? r.then(i) : i(r);
    }
    async _getTarget(e) {
      f(this._target instanceof ke);
      let r = await this._getTargetValidated(e);
      return (
        this._emit("target", { target: r, request: e, isRoot: e.isRoot }),
        this.state === "canceled" ? await r._close() : this._rememberTarget(r),
        r
      );
    }
    _rememberTarget(e) {
      (this._unfinalizedTargets.add(e), e.on("finalized", () => this._unfinalizedTargets.delete(e), { once: !0 }));
    }
    async _getInitTarget() {
      if ((f(this._initTarget !== null), this._initTarget instanceof V)) return this._initTarget;
      let e = await this._initTarget();
      return (this.state === "canceled" ? await e._close() : this._rememberTarget(e), e);
    }
    _hasInitTarget() {
      return this._initTarget !== null;
    }
    _getRootTarget() {
      if (this._rootTarget) return this._rootTarget;
      if (this._rootTargetPromise) return this._rootTargetPromise;
      if (this._target instanceof V)
        return (
          this._emit("target", { target: this._target, request: null, isRoot: !0 }),
          (this._rootTarget = this._target),
          this._target
        );
      let e = { path: this._target.rootPath, isRoot: !0, mimeType: this.format.mimeType },
        r = this._getTargetValidated(e),
        i = (s) => (
          this.state === "canceled" ? s._close() : this._rememberTarget(s),
          this._emit("target", { target: s, request: e, isRoot: !0 }),
          (this._rootTarget = s),
          s
        );
      return Re(r) ? (this._rootTargetPromise = r.then(i)) : i(r);
    }
    _getRootWriter(e) {
      return (this._rootWriterPromise ??= (async () => {
        let r = await this._getRootTarget(),
          i = new Ee(r, typeof e == "boolean" ? e : e(r));
        return (i.start(), i);
      })());
    }
    addVideoTrack(e, r = {}) {
      if (!(e instanceof Qe)) throw new TypeError("source must be a VideoSource.");
      if ((cr(r), r.rotation !== void 0 && ![0, 90, 180, 270].includes(r.rotation)))
        throw new TypeError(`Invalid video rotation: ${r.rotation}. Has to be 0, 90, 180 or 270.`);
      if (r.flip !== void 0 && typeof r.flip != "boolean")
        throw new TypeError("metadata.flip, when provided, must be a boolean.");
      if (
        r.transformationMatrix !== void 0 &&
        (!Array.isArray(r.transformationMatrix) ||
          r.transformationMatrix.length !== 9 ||
          !r.transformationMatrix.every((s) => Number.isFinite(s)))
      )
        throw new TypeError("metadata.transformationMatrix, when provided, must be an array of 9 finite numbers.");
      if (r.frameRate !== void 0 && (!Number.isFinite(r.frameRate) || r.frameRate <= 0))
        throw new TypeError(`Invalid video frame rate: ${r.frameRate}. Must be a positive number.`);
      if (r.hasOnlyKeyPackets !== void 0 && typeof r.hasOnlyKeyPackets != "boolean")
        throw new TypeError("metadata.hasOnlyKeyPackets, when provided, must be a boolean.");
      if (r.canBeTransparent !== void 0 && typeof r.canBeTransparent != "boolean")
        throw new TypeError("metadata.canBeTransparent, when provided, must be a boolean.");
      if (
        (r.decoderConfig !== void 0 && Oe({ decoderConfig: r.decoderConfig }, e._codec), r.primingPacket !== void 0)
      ) {
        if (!(r.primingPacket instanceof ce))
          throw new TypeError("metadata.primingPacket, when provided, must be an EncodedPacket.");
        if (r.decoderConfig === void 0)
          throw new TypeError("metadata.primingPacket can only be provided alongside metadata.decoderConfig.");
      }
      let i = { ...r };
      return ((i.group ??= this.defaultTrackGroup), this._addTrack(new Ut(this.tracks.length + 1, this, e, i)));
    }
    addAudioTrack(e, r = {}) {
      if (!(e instanceof ct)) throw new TypeError("source must be an AudioSource.");
      if (
        (cr(r),
        r.decoderConfig !== void 0 && Ue({ decoderConfig: r.decoderConfig }, e._codec),
        r.primingPacket !== void 0)
      ) {
        if (!(r.primingPacket instanceof ce))
          throw new TypeError("metadata.primingPacket, when provided, must be an EncodedPacket.");
        if (r.decoderConfig === void 0)
          throw new TypeError("metadata.primingPacket can only be provided alongside metadata.decoderConfig.");
      }
      let i = { ...r };
      return ((i.group ??= this.defaultTrackGroup), this._addTrack(new Vt(this.tracks.length + 1, this, e, i)));
    }
    addSubtitleTrack(e, r = {}) {
      if (!(e instanceof lt)) throw new TypeError("source must be a SubtitleSource.");
      cr(r);
      let i = { ...r };
      return ((i.group ??= this.defaultTrackGroup), this._addTrack(new zt(this.tracks.length + 1, this, e, i)));
    }
    setMetadataTags(e) {
      if ((Cr(e), this.state !== "pending"))
        throw new Error("Cannot set metadata tags after output has been started or canceled.");
      this._metadataTags = e;
    }
    _addTrack(e) {
      if (this.state !== "pending") throw new Error("Cannot add track after output has been started or canceled.");
      if (e.source._connectedTrack) throw new Error("Source is already used for a track.");
      let r = this.format.getSupportedTrackCounts(),
        i = this.tracks.reduce((o, a) => o + (a.type === e.type ? 1 : 0), 0),
        s = r[e.type].max;
      if (i === s)
        throw new Error(
          s === 0
            ? `${this.format._name} does not support ${e.type} tracks.`
            : `${this.format._name} does not support more than ${s} ${e.type} track${s === 1 ? "" : "s"}.`,
        );
      let n = r.total.max;
      if (this.tracks.length === n)
        throw new Error(`${this.format._name} does not support more than ${n} tracks${n === 1 ? "" : "s"} in total.`);
      if (e.isVideoTrack()) {
        let o = this.format.getSupportedVideoCodecs();
        if (o.length === 0)
          throw new Error(
            `${this.format._name} does not support video tracks.` + this.format._codecUnsupportedHint(e.source._codec),
          );
        if (!o.includes(e.source._codec))
          throw new Error(
            `Codec '${e.source._codec}' cannot be contained within ${this.format._name}. Supported video codecs are: ${o.map((a) => `'${a}'`).join(", ")}.` +
              this.format._codecUnsupportedHint(e.source._codec),
          );
      } else if (e.isAudioTrack()) {
        let o = this.format.getSupportedAudioCodecs();
        if (o.length === 0)
          throw new Error(
            `${this.format._name} does not support audio tracks.` + this.format._codecUnsupportedHint(e.source._codec),
          );
        if (!o.includes(e.source._codec))
          throw new Error(
            `Codec '${e.source._codec}' cannot be contained within ${this.format._name}. Supported audio codecs are: ${o.map((a) => `'${a}'`).join(", ")}.` +
              this.format._codecUnsupportedHint(e.source._codec),
          );
      } else if (e.isSubtitleTrack()) {
        let o = this.format.getSupportedSubtitleCodecs();
        if (o.length === 0)
          throw new Error(
            `${this.format._name} does not support subtitle tracks.` +
              this.format._codecUnsupportedHint(e.source._codec),
          );
        if (!o.includes(e.source._codec))
          throw new Error(
            `Codec '${e.source._codec}' cannot be contained within ${this.format._name}. Supported subtitle codecs are: ${o.map((a) => `'${a}'`).join(", ")}.` +
              this.format._codecUnsupportedHint(e.source._codec),
          );
      }
      return (this.tracks.push(e), (e.source._connectedTrack = e), e);
    }
    hasEnoughTracks() {
      let e = this.format.getSupportedTrackCounts();
      for (let i of _i) {
        let s = this.tracks.reduce((o, a) => o + (a.type === i ? 1 : 0), 0),
          n = e[i].min;
        if (s < n) return !1;
      }
      let r = e.total.min;
      return !(this.tracks.length < r);
    }
    async start() {
      let e = this.format.getSupportedTrackCounts();
      for (let i of _i) {
        let s = this.tracks.reduce((o, a) => o + (a.type === i ? 1 : 0), 0),
          n = e[i].min;
        if (s < n)
          throw new Error(
            n === e[i].max
              ? `${this.format._name} requires exactly ${n} ${i} track${n === 1 ? "" : "s"}.`
              : `${this.format._name} requires at least ${n} ${i} track${n === 1 ? "" : "s"}.`,
          );
      }
      let r = e.total.min;
      if (this.tracks.length < r)
        throw new Error(
          r === e.total.max
            ? `${this.format._name} requires exactly ${r} track${r === 1 ? "" : "s"}.`
            : `${this.format._name} requires at least ${r} track${r === 1 ? "" : "s"}.`,
        );
      if (this.state === "canceled") throw new Error("Output has been canceled.");
      return this._startPromise
        ? (F._warn("Output has already been started."), this._startPromise)
        : (this._startPromise = (async () => {
            this.state = "started";
            let i = this._mutex.acquire();
            try {
              await this._muxer.start();
              let s = this.tracks.map((n) => n.source._start());
              await Promise.all(s);
            } finally {
              (await i)();
            }
          })());
    }
    getMimeType() {
      return this._muxer.getMimeType();
    }
    async cancel() {
      if (this.state === "canceled") return this._cancelPromise ?? void 0;
      if (this.state === "finalizing" || this.state === "finalized") {
        this.state === "finalized" && F._warn("Output has already been finalized.");
        return;
      }
      return (this._cancelPromise = (async () => {
        this.state = "canceled";
        let e = await this._mutex.acquire();
        try {
          let r = this.tracks.map((i) => i.source._flushOrWaitForOngoingClose(!0));
          (await Promise.all(r),
            await Promise.all([...this._unfinalizedTargets].map((i) => i._close())),
            this._unfinalizedTargets.clear());
        } finally {
          e();
        }
      })());
    }
    async finalize() {
      if (this.state === "pending") throw new Error("Cannot finalize before starting.");
      if (this.state === "canceled") throw new Error("Cannot finalize after canceling.");
      return this._finalizePromise
        ? (F._warn("Output has already been finalized."), this._finalizePromise)
        : (this._finalizePromise = (async () => {
            this.state = "finalizing";
            let e = await this._mutex.acquire();
            try {
              let r = this.tracks.map((i) => i.source._flushOrWaitForOngoingClose(!1));
              if ((await Promise.all(r), await this._muxer.finalize(), this._rootWriterPromise)) {
                let i = await this._rootWriterPromise;
                i.finalized || (await i.flush(), await i.finalize());
              }
              (this._onFinalize && (await this._onFinalize()), (this.state = "finalized"));
            } catch (r) {
              throw ((this.state = "canceled"), r);
            } finally {
              (await Promise.all([...this._unfinalizedTargets].map((r) => r._close().catch(() => {}))),
                this._unfinalizedTargets.clear(),
                e());
            }
          })());
    }
  };
var Ei = Symbol.for("mediabunny loaded");
globalThis[Ei] &&
  F._error(`[WARNING]
Mediabunny was loaded twice. This will likely cause Mediabunny not to work correctly. Check if multiple dependencies are importing different versions of Mediabunny, or if something is being bundled incorrectly.`);
globalThis[Ei] = !0;
export {
  he as BufferTarget,
  ce as EncodedPacket,
  Ot as EncodedVideoPacketSource,
  ut as Mp4OutputFormat,
  Dt as Output,
  ge as WebMOutputFormat,
};
