/*! gifenc 1.0.3, MIT, https://github.com/mattdesl/gifenc */
var J = {
  signature: "GIF",
  version: "89a",
  trailer: 59,
  extensionIntroducer: 33,
  applicationExtensionLabel: 255,
  graphicControlExtensionLabel: 249,
  imageSeparator: 44,
  signatureSize: 3,
  versionSize: 3,
  globalColorTableFlagMask: 128,
  colorResolutionMask: 112,
  sortFlagMask: 8,
  globalColorTableSizeMask: 7,
  applicationIdentifierSize: 8,
  applicationAuthCodeSize: 3,
  disposalMethodMask: 28,
  userInputFlagMask: 2,
  transparentColorFlagMask: 1,
  localColorTableFlagMask: 128,
  interlaceFlagMask: 64,
  idSortFlagMask: 32,
  localColorTableSizeMask: 7,
};
function _(e = 256) {
  let r = 0,
    l = new Uint8Array(e);
  return {
    get buffer() {
      return l.buffer;
    },
    reset() {
      r = 0;
    },
    bytesView() {
      return l.subarray(0, r);
    },
    bytes() {
      return l.slice(0, r);
    },
    writeByte(n) {
      (t(r + 1), (l[r] = n), r++);
    },
    writeBytes(n, i = 0, o = n.length) {
      t(r + o);
      for (let f = 0; f < o; f++) l[r++] = n[f + i];
    },
    writeBytesView(n, i = 0, o = n.byteLength) {
      (t(r + o), l.set(n.subarray(i, i + o), r), (r += o));
    },
  };
  function t(n) {
    var i = l.length;
    if (i >= n) return;
    var o = 1024 * 1024;
    ((n = Math.max(n, (i * (i < o ? 2 : 1.125)) >>> 0)), i != 0 && (n = Math.max(n, 256)));
    let f = l;
    ((l = new Uint8Array(n)), r > 0 && l.set(f.subarray(0, r), 0));
  }
}
var R = 12,
  H = 5003,
  K = [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 2047, 4095, 8191, 16383, 32767, 65535];
function O(e, r, l, t, n = _(512), i = new Uint8Array(256), o = new Int32Array(H), f = new Int32Array(H)) {
  let b = o.length,
    A = Math.max(2, t);
  (i.fill(0), f.fill(0), o.fill(-1));
  let u = 0,
    a = 0,
    s = A + 1,
    k = s,
    h = !1,
    g = k,
    c = (1 << g) - 1,
    p = 1 << (s - 1),
    C = p + 1,
    x = p + 2,
    w = 0,
    M = l[0],
    F = 0;
  for (let B = b; B < 65536; B *= 2) ++F;
  ((F = 8 - F), n.writeByte(A), d(p));
  let y = l.length;
  for (let B = 1; B < y; B++)
    e: {
      let U = l[B],
        z = (U << R) + M,
        m = (U << F) ^ M;
      if (o[m] === z) {
        M = f[m];
        break e;
      }
      let G = m === 0 ? 1 : b - m;
      for (; o[m] >= 0;)
        if (((m -= G), m < 0 && (m += b), o[m] === z)) {
          M = f[m];
          break e;
        }
      (d(M), (M = U), x < 1 << R ? ((f[m] = x++), (o[m] = z)) : (o.fill(-1), (x = p + 2), (h = !0), d(p)));
    }
  return (d(M), d(C), n.writeByte(0), n.bytesView());
  function d(B) {
    for (u &= K[a], a > 0 ? (u |= B << a) : (u = B), a += g; a >= 8;)
      ((i[w++] = u & 255), w >= 254 && (n.writeByte(w), n.writeBytesView(i, 0, w), (w = 0)), (u >>= 8), (a -= 8));
    if (
      ((x > c || h) && (h ? ((g = k), (c = (1 << g) - 1), (h = !1)) : (++g, (c = g === R ? 1 << g : (1 << g) - 1))),
      B == C)
    ) {
      for (; a > 0;)
        ((i[w++] = u & 255), w >= 254 && (n.writeByte(w), n.writeBytesView(i, 0, w), (w = 0)), (u >>= 8), (a -= 8));
      w > 0 && (n.writeByte(w), n.writeBytesView(i, 0, w), (w = 0));
    }
  }
}
var Q = O;
function X(e, r, l) {
  return ((e << 8) & 63488) | ((r << 2) & 992) | (l >> 3);
}
function Y(e, r, l, t) {
  return (e >> 4) | (r & 240) | ((l & 240) << 4) | ((t & 240) << 8);
}
function Z(e, r, l) {
  return ((e >> 4) << 8) | (r & 240) | (l >> 4);
}
function S(e, r, l) {
  return e < r ? r : e > l ? l : e;
}
function q(e) {
  return e * e;
}
function N(e, r, l) {
  var t = 0,
    n = 1e100;
  let i = e[r],
    o = i.cnt,
    f = i.ac,
    b = i.rc,
    A = i.gc,
    u = i.bc;
  for (var a = i.fw; a != 0; a = e[a].fw) {
    let k = e[a],
      h = k.cnt,
      g = (o * h) / (o + h);
    if (!(g >= n)) {
      var s = 0;
      (l && ((s += g * q(k.ac - f)), s >= n)) ||
        ((s += g * q(k.rc - b)),
        !(s >= n) && ((s += g * q(k.gc - A)), !(s >= n) && ((s += g * q(k.bc - u)), !(s >= n) && ((n = s), (t = a)))));
    }
  }
  ((i.err = n), (i.nn = t));
}
function P() {
  return { ac: 0, rc: 0, gc: 0, bc: 0, cnt: 0, nn: 0, fw: 0, bk: 0, tm: 0, mtm: 0, err: 0 };
}
function $(e, r) {
  let l = r === "rgb444" ? 4096 : 65536,
    t = new Array(l),
    n = e.length;
  if (r === "rgba4444")
    for (let i = 0; i < n; ++i) {
      let o = e[i],
        f = (o >> 24) & 255,
        b = (o >> 16) & 255,
        A = (o >> 8) & 255,
        u = o & 255,
        a = Y(u, A, b, f),
        s = a in t ? t[a] : (t[a] = P());
      ((s.rc += u), (s.gc += A), (s.bc += b), (s.ac += f), s.cnt++);
    }
  else if (r === "rgb444")
    for (let i = 0; i < n; ++i) {
      let o = e[i],
        f = (o >> 16) & 255,
        b = (o >> 8) & 255,
        A = o & 255,
        u = Z(A, b, f),
        a = u in t ? t[u] : (t[u] = P());
      ((a.rc += A), (a.gc += b), (a.bc += f), a.cnt++);
    }
  else
    for (let i = 0; i < n; ++i) {
      let o = e[i],
        f = (o >> 16) & 255,
        b = (o >> 8) & 255,
        A = o & 255,
        u = X(A, b, f),
        a = u in t ? t[u] : (t[u] = P());
      ((a.rc += A), (a.gc += b), (a.bc += f), a.cnt++);
    }
  return t;
}
function ee(e, r, l = {}) {
  let {
    format: t = "rgb565",
    clearAlpha: n = !0,
    clearAlphaColor: i = 0,
    clearAlphaThreshold: o = 0,
    oneBitAlpha: f = !1,
  } = l;
  if (!e || !e.buffer) throw new Error("quantize() expected RGBA Uint8Array data");
  if (!(e instanceof Uint8Array) && !(e instanceof Uint8ClampedArray))
    throw new Error("quantize() expected RGBA Uint8Array data");
  let b = new Uint32Array(e.buffer),
    A = l.useSqrt !== !1,
    u = t === "rgba4444",
    a = $(b, t),
    s = a.length,
    k = s - 1,
    h = new Uint32Array(s + 1);
  for (var g = 0, c = 0; c < s; ++c) {
    let v = a[c];
    if (v != null) {
      var p = 1 / v.cnt;
      (u && (v.ac *= p), (v.rc *= p), (v.gc *= p), (v.bc *= p), (a[g++] = v));
    }
  }
  q(r) / g < 0.022 && (A = !1);
  for (var c = 0; c < g - 1; ++c) ((a[c].fw = c + 1), (a[c + 1].bk = c), A && (a[c].cnt = Math.sqrt(a[c].cnt)));
  A && (a[c].cnt = Math.sqrt(a[c].cnt));
  var C, x, w;
  for (c = 0; c < g; ++c) {
    N(a, c, !1);
    var M = a[c].err;
    for (x = ++h[0]; x > 1 && ((w = x >> 1), !(a[(C = h[w])].err <= M)); x = w) h[x] = C;
    h[x] = c;
  }
  var F = g - r;
  for (c = 0; c < F;) {
    for (var y; ;) {
      var d = h[1];
      if (((y = a[d]), y.tm >= y.mtm && a[y.nn].mtm <= y.tm)) break;
      y.mtm == k ? (d = h[1] = h[h[0]--]) : (N(a, d, !1), (y.tm = c));
      var M = a[d].err;
      for (
        x = 1;
        (w = x + x) <= h[0] && (w < h[0] && a[h[w]].err > a[h[w + 1]].err && w++, !(M <= a[(C = h[w])].err));
        x = w
      )
        h[x] = C;
      h[x] = d;
    }
    var B = a[y.nn],
      U = y.cnt,
      z = B.cnt,
      p = 1 / (U + z);
    (u && (y.ac = p * (U * y.ac + z * B.ac)),
      (y.rc = p * (U * y.rc + z * B.rc)),
      (y.gc = p * (U * y.gc + z * B.gc)),
      (y.bc = p * (U * y.bc + z * B.bc)),
      (y.cnt += B.cnt),
      (y.mtm = ++c),
      (a[B.bk].fw = B.fw),
      (a[B.fw].bk = B.bk),
      (B.mtm = k));
  }
  let m = [];
  var G = 0;
  for (c = 0; ; ++G) {
    let v = S(Math.round(a[c].rc), 0, 255),
      V = S(Math.round(a[c].gc), 0, 255),
      T = S(Math.round(a[c].bc), 0, 255),
      E = 255;
    u &&
      ((E = S(Math.round(a[c].ac), 0, 255)),
      f && (E = E <= (typeof f == "number" ? f : 127) ? 0 : 255),
      n && E <= o && ((v = V = T = i), (E = 0)));
    let D = u ? [v, V, T, E] : [v, V, T];
    if ((te(m, D) || m.push(D), (c = a[c].fw) == 0)) break;
  }
  return m;
}
function te(e, r) {
  for (let l = 0; l < e.length; l++) {
    let t = e[l],
      n = t[0] === r[0] && t[1] === r[1] && t[2] === r[2],
      i = t.length >= 4 && r.length >= 4 ? t[3] === r[3] : !0;
    if (n && i) return !0;
  }
  return !1;
}
function re(e, r) {
  var l = 0,
    t;
  for (t = 0; t < e.length; t++) {
    let n = e[t] - r[t];
    l += n * n;
  }
  return l;
}
function ne(e, r, l = re) {
  let t = 1 / 0,
    n = -1;
  for (let i = 0; i < e.length; i++) {
    let o = e[i],
      f = l(r, o);
    f < t && ((t = f), (n = i));
  }
  return n;
}
function ae(e = {}) {
  let { initialCapacity: r = 4096, auto: l = !0 } = e,
    t = _(r),
    n = 5003,
    i = new Uint8Array(256),
    o = new Int32Array(n),
    f = new Int32Array(n),
    b = !1;
  return {
    reset() {
      (t.reset(), (b = !1));
    },
    finish() {
      t.writeByte(J.trailer);
    },
    bytes() {
      return t.bytes();
    },
    bytesView() {
      return t.bytesView();
    },
    get buffer() {
      return t.buffer;
    },
    get stream() {
      return t;
    },
    writeHeader: A,
    writeFrame(u, a, s, k = {}) {
      let {
          transparent: h = !1,
          transparentIndex: g = 0,
          delay: c = 0,
          palette: p = null,
          repeat: C = 0,
          colorDepth: x = 8,
          dispose: w = -1,
        } = k,
        M = !1;
      if (
        (l ? b || ((M = !0), A(), (b = !0)) : (M = !!k.first),
        (a = Math.max(0, Math.floor(a))),
        (s = Math.max(0, Math.floor(s))),
        M)
      ) {
        if (!p) throw new Error("First frame must include a { palette } option");
        (le(t, a, s, p, x), W(t, p), C >= 0 && oe(t, C));
      }
      let F = Math.round(c / 10);
      ie(t, w, F, h, g);
      let y = !!p && !M;
      (ce(t, a, s, y ? p : null), y && W(t, p), fe(t, u, a, s, x, i, o, f));
    },
  };
  function A() {
    j(t, "GIF89a");
  }
}
function ie(e, r, l, t, n) {
  (e.writeByte(33), e.writeByte(249), e.writeByte(4), n < 0 && ((n = 0), (t = !1)));
  var i, o;
  (t ? ((i = 1), (o = 2)) : ((i = 0), (o = 0)),
    r >= 0 && (o = r & 7),
    (o <<= 2),
    e.writeByte(0 | o | 0 | i),
    I(e, l),
    e.writeByte(n || 0),
    e.writeByte(0));
}
function le(e, r, l, t, n = 8) {
  let i = 1,
    o = 0,
    f = L(t.length) - 1,
    b = (i << 7) | ((n - 1) << 4) | (o << 3) | f;
  (I(e, r), I(e, l), e.writeBytes([b, 0, 0]));
}
function oe(e, r) {
  (e.writeByte(33),
    e.writeByte(255),
    e.writeByte(11),
    j(e, "NETSCAPE2.0"),
    e.writeByte(3),
    e.writeByte(1),
    I(e, r),
    e.writeByte(0));
}
function W(e, r) {
  let l = 1 << L(r.length);
  for (let t = 0; t < l; t++) {
    let n = [0, 0, 0];
    (t < r.length && (n = r[t]), e.writeByte(n[0]), e.writeByte(n[1]), e.writeByte(n[2]));
  }
}
function ce(e, r, l, t) {
  if ((e.writeByte(44), I(e, 0), I(e, 0), I(e, r), I(e, l), t)) {
    let n = 0,
      i = 0,
      o = L(t.length) - 1;
    e.writeByte(128 | n | i | 0 | o);
  } else e.writeByte(0);
}
function fe(e, r, l, t, n = 8, i, o, f) {
  Q(l, t, r, n, e, i, o, f);
}
function I(e, r) {
  (e.writeByte(r & 255), e.writeByte((r >> 8) & 255));
}
function j(e, r) {
  for (var l = 0; l < r.length; l++) e.writeByte(r.charCodeAt(l));
}
function L(e) {
  return Math.max(Math.ceil(Math.log2(e)), 1);
}
export { ae as GIFEncoder, ne as nearestColorIndex, ee as quantize };
