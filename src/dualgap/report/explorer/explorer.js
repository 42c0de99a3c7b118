"use strict";
// Every picture is drawn again from the rows of the page and the solved points whenever something is moved.
(() => {
  document.documentElement.classList.add("js");
  const at = (id) => document.getElementById(id);
  const data = JSON.parse(at("explorer-values").textContent);

  // -- what the page carries ------------------------------------------------------------------------
  const numbers = (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return Float64Array.from(new Float32Array(bytes.buffer));
  };
  const n = data.n;
  const p = data.names.length;
  const X = numbers(data.X); // column by column
  const y = numbers(data.y);
  const share = numbers(data.share);
  const classes = data.classes !== null;
  for (const row of data.paths) {
    for (const path of row) {
      if (path) for (const name of ["w", "b", "lams", "budgets", "risks", "gaps"]) path[name] = numbers(path[name]);
    }
  }

  // L(y, z) is a function of z − y for numbers, of the margin y·z for classes
  const LOSSES = {
    squared: () => (r) => r * r,
    absolute: () => Math.abs,
    huber: (delta) => (r) => (Math.abs(r) <= delta ? r * r : delta * (2 * Math.abs(r) - delta)),
    quantile: (q) => (r) => (r > 0 ? (1 - q) * r : -q * r),
    hinge: () => (m) => Math.max(1 - m, 0),
    squared_hinge: () => (m) => (m < 1 ? (1 - m) * (1 - m) : 0),
    logistic: () => (m) => (m > 0 ? Math.log1p(Math.exp(-m)) : Math.log1p(Math.exp(m)) - m),
    exponential: () => (m) => Math.exp(-m),
  };
  // The ball at the weights w in the plane of two of them: how far its edge is in a direction.
  const EDGES = {
    l1: (a, b) => (c, s) => (Math.abs(a) + Math.abs(b)) / (Math.abs(c) + Math.abs(s)),
    l2: (a, b) => () => Math.hypot(a, b),
    elastic_net: (a, b, w, alpha) => (c, s) => {
      const size = Math.abs(a) + Math.abs(b) + alpha * (a * a + b * b);
      const slope = Math.abs(c) + Math.abs(s);
      return (2 * size) / (slope + Math.sqrt(slope * slope + 4 * alpha * size));
    },
    linf: (a, b, w) => (c, s) => w.reduce((top, v) => Math.max(top, Math.abs(v)), 0) / Math.max(Math.abs(c), Math.abs(s)),
  };

  const state = { loss: 0, penalty: 0, k: 0, first: data.plane[0], second: data.plane[1] };
  const path = () => data.paths[state.loss][state.penalty];
  const loss = () => LOSSES[data.losses[state.loss].name](data.losses[state.loss].parameter);
  const weights = (one, k) => one.w.subarray(k * p, (k + 1) * p);
  const known = new WeakMap(); // what depends on a path alone is computed once
  const once = (name, make) => {
    const one = path();
    if (!known.has(one)) known.set(one, {});
    const found = known.get(one);
    if (!(name in found)) found[name] = make(one);
    return found[name];
  };
  const scores = (one, k) => {
    const w = weights(one, k);
    const z = new Float64Array(n).fill(one.b[k]);
    for (let j = 0; j < p; j++) {
      if (w[j] !== 0) for (let i = 0; i < n; i++) z[i] += w[j] * X[j * n + i];
    }
    return z;
  };
  const argument = (z) => z.map((v, i) => (classes ? y[i] * v : v - y[i]));
  const mean = (values) => values.reduce((sum, v, i) => sum + share[i] * v, 0);

  // -- numbers and axes -----------------------------------------------------------------------------
  const safe = (text) =>
    String(text).replace(/[&<>"']/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[sign]);
  const clipped = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
  const number = (value, digits = 4) => {
    if (!Number.isFinite(value)) return Number.isNaN(value) ? "not a number" : value > 0 ? "∞" : "−∞";
    const size = Math.abs(value);
    const plain = value === 0 || (size >= 1e-4 && size < 1e6);
    const text = plain ? String(Number(value.toPrecision(digits))) : value.toExponential(Math.max(digits - 2, 0));
    return text.replace(/\.?0+e/, "e").replace("e+", "e").replaceAll("-", "−");
  };
  const tick = (value) => {
    const size = Math.abs(value);
    const [unit, sign] = size >= 1e6 && size < 1e9 ? [1e6, "M"] : size >= 1e4 && size < 1e6 ? [1e3, "k"] : [1, ""];
    return number(value / unit, 3) + sign;
  };
  const steps = (low, high, most) => {
    const raw = (high - low) / most;
    if (!(raw > 0) || !Number.isFinite(raw)) return [low];
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * (1 - 1e-9));
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k <= high / step + 1e-9; k++) found.push(k * step);
    return found;
  };
  const powers = (low, high, most) => {
    const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
    const every = Math.max(1, Math.ceil((last - first + 1) / most));
    const found = [];
    for (let k = first; k <= last; k++) if ((k - first) % every === 0) found.push(10 ** k);
    return found;
  };
  const axis = (low, high, label, log = false) => {
    const f = log ? Math.log : (v) => v;
    const span = f(high) - f(low) || 1;
    const [least, most] = low < high ? [low, high] : [high, low];
    return {
      label, low, high,
      place: (v) => (f(v) - f(low)) / span,
      ticks: (count) => (log && most / least > 20 ? powers(least, most, count) : steps(least, most, count)),
    };
  };
  const spanning = (values, label, room = 0.05) => {
    let [low, high] = [Infinity, -Infinity];
    for (const v of values) if (Number.isFinite(v)) [low, high] = [Math.min(low, v), Math.max(high, v)];
    if (!(low <= high)) [low, high] = [0, 1];
    const edge = high > low ? room * (high - low) : Math.max(Math.abs(high), 1) * 0.1;
    return axis(low - edge, high + edge, label);
  };

  // -- charts ---------------------------------------------------------------------------------------
  const [WIDTH, LEFT, TOP, BOTTOM] = [400, 66, 14, 44];
  const chart = (x, up, { height = 270, right = 14 } = {}) => {
    const [end, bottom] = [WIDTH - right, height - BOTTOM];
    const px = (v) => (LEFT + (end - LEFT) * x.place(v)).toFixed(1);
    const py = (v) => (bottom - (bottom - TOP) * Math.min(Math.max(up.place(v), -0.5), 1.5)).toFixed(1);
    const marks = [];
    const add = (mark) => marks.push(mark);
    return {
      px, py, add, end, bottom,
      line: (xs, ys, look, extra = "") => {
        const points = [...xs].map((v, i) => `${px(v)} ${py(ys[i])}`).filter((s) => !s.includes("NaN"));
        if (points.length) add(`<path class="line ${look}" d="M${points.join("L")}"${extra}/>`);
      },
      dots: (xs, ys, look) => add(`<path class="dots ${look}" d="${[...xs].map((v, i) => `M${px(v)} ${py(ys[i])}h0`).join("")}"/>`),
      upright: (v, look) => add(`<line class="${look}" x1="${px(v)}" x2="${px(v)}" y1="${TOP}" y2="${bottom}"/>`),
      level: (v, look) => add(`<line class="mark ${look}" x1="${LEFT}" x2="${end}" y1="${py(v)}" y2="${py(v)}"/>`),
      follower: (a, b, look) => add(`<circle class="follower ${look}" cx="${px(a)}" cy="${py(b)}" r="5"/>`),
      svg: (about) => {
        const frame = [];
        for (const v of x.ticks(6)) {
          frame.push(`<path class="tick" d="M${px(v)} ${bottom}v4"/>`);
          frame.push(`<text class="tick" x="${px(v)}" y="${bottom + 16}" text-anchor="middle">${tick(v)}</text>`);
        }
        for (const v of up.ticks(5)) {
          frame.push(`<path class="guide" d="M${LEFT} ${py(v)}H${end}"/>`);
          frame.push(`<text class="tick" x="${LEFT - 6}" y="${Number(py(v)) + 4}" text-anchor="end">${tick(v)}</text>`);
        }
        frame.push(`<path class="axis" d="M${LEFT} ${bottom}H${end}"/>`);
        frame.push(`<text class="label" x="${(LEFT + end) / 2}" y="${height - 8}" text-anchor="middle">${safe(x.label)}</text>`);
        const turned = `translate(11 ${(TOP + bottom) / 2}) rotate(-90)`;
        frame.push(`<text class="label" transform="${turned}" text-anchor="middle">${safe(up.label)}</text>`);
        const head = `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${safe(about)}">`;
        const window = `<clipPath id="frame${height}${right}"><rect x="${LEFT}" y="${TOP}" width="${end - LEFT}" height="${bottom - TOP}"/></clipPath>`;
        return head + window + frame.join("") + marks.join("") + "</svg>";
      },
    };
  };
  const show = (name, picture, caption) => {
    at(`picture-${name}`).innerHTML = picture;
    if (caption !== undefined) at(`caption-${name}`).textContent = caption;
  };
  const look = (rank) => `s${rank % 8} d${(rank + Math.floor(rank / 8)) % 5}`;
  const entry = (kind, words) =>
    `<span class="entry"><svg class="swatch" viewBox="0 0 26 10" aria-hidden="true"><path class="line ${kind}" d="M1 5H25"/></svg>${safe(words)}</span>`;
  const key = (entries) => `<div class="key">${entries.map(([kind, words]) => entry(kind, words)).join("")}</div>`;

  // -- the plane of two weights ---------------------------------------------------------------------
  const GRID = n > 400 ? 36 : 48; // cells on a side: fewer where there are many rows to sum at every corner
  const reach = () => {
    let top = 0; // over all penalties, so that only the loss moves the axes
    for (const one of data.paths[state.loss]) {
      if (!one) continue;
      for (let k = 0; k < one.lams.length; k++) {
        const w = weights(one, k);
        top = Math.max(top, Math.abs(w[state.first]), Math.abs(w[state.second]));
      }
    }
    return 1.2 * (top || 1);
  };
  const ground = (z, w, size) => {
    const [a, b] = [state.first, state.second];
    const l = loss();
    const side = GRID + 1;
    const found = new Float64Array(side * side);
    for (let i = 0; i < n; i++) {
      const [xa, xb] = [X[a * n + i], X[b * n + i]];
      const rest = z[i] - w[a] * xa - w[b] * xb;
      const sign = classes ? y[i] : 1;
      const base = classes ? sign * rest : rest - y[i];
      for (let v = 0; v < side; v++) {
        const row = base + sign * xb * size * ((2 * v) / GRID - 1);
        const step = sign * xa * size;
        for (let u = 0; u < side; u++) found[v * side + u] += share[i] * l(row + step * ((2 * u) / GRID - 1));
      }
    }
    return found;
  };
  const cut = (values, level, place) => {
    // marching squares: straight pieces where the ground has this height
    const side = GRID + 1;
    const parts = [];
    for (let v = 0; v < GRID; v++) {
      for (let u = 0; u < GRID; u++) {
        const corners = [[u, v], [u + 1, v], [u + 1, v + 1], [u, v + 1]];
        const heights = corners.map(([i, j]) => values[j * side + i] - level);
        const ends = [];
        for (let e = 0; e < 4; e++) {
          const [h, g] = [heights[e], heights[(e + 1) % 4]];
          if (h < 0 === g < 0) continue;
          const t = h / (h - g);
          const [from, to] = [corners[e], corners[(e + 1) % 4]];
          ends.push(place(from[0] + t * (to[0] - from[0]), from[1] + t * (to[1] - from[1])));
        }
        for (let e = 0; e + 1 < ends.length; e += 2) parts.push(`M${ends[e]}L${ends[e + 1]}`);
      }
    }
    return parts.join("");
  };
  const plane = (z) => {
    const one = path();
    const w = weights(one, state.k);
    const [a, b] = [state.first, state.second];
    const size = reach();
    const [x, up] = [a, b].map((j) => axis(-size, size, `weight of ${clipped(data.names[j], 30)}`));
    const c = chart(x, up, { height: WIDTH - LEFT - 14 + TOP + BOTTOM });
    const place = (u, v) => `${c.px(size * ((2 * u) / GRID - 1))} ${c.py(size * ((2 * v) / GRID - 1))}`;
    const values = ground(z, w, size);
    const sorted = Float64Array.from(values).sort();
    c.add(`<g clip-path="url(#frame${WIDTH - LEFT - 14 + TOP + BOTTOM}14)">`);
    for (let k = 1; k <= 9; k++) {
      const level = sorted[Math.floor((sorted.length - 1) * (k / 10) ** 1.5)];
      c.add(`<path class="contour" d="${cut(values, level, place)}"/>`);
    }
    const edge = EDGES[data.penalties[state.penalty].name](w[a], w[b], w, data.penalties[state.penalty].parameter);
    const rim = [];
    for (let t = 0; t < 360; t++) {
      const [co, si] = [Math.cos((t * Math.PI) / 180), Math.sin((t * Math.PI) / 180)];
      const r = edge(co, si);
      rim.push(`${((LEFT + c.end) / 2 + ((c.end - LEFT) * r * co) / (2 * size)).toFixed(1)} ${((TOP + c.bottom) / 2 - ((c.bottom - TOP) * r * si) / (2 * size)).toFixed(1)}`);
    }
    c.add(`<path class="ball" d="M${rim.join("L")}Z"/>`);
    c.level(0, "zero");
    c.upright(0, "mark zero");
    const here = mean(argument(z).map(loss()));
    c.add(`<path class="contour touching" d="${cut(values, here, place)}"/>`);
    const way = [...one.lams.keys()];
    c.line(way.map((k) => weights(one, k)[a]), way.map((k) => weights(one, k)[b]), "s2 d0");
    c.dots(way.map((k) => weights(one, k)[a]), way.map((k) => weights(one, k)[b]), "s2");
    c.add("</g>");
    c.follower(w[a], w[b], "s2");
    const words = [["contour", "equal mean loss"], ["contour touching", "through the solution"], ["ball-edge", "the ball"], ["s2 d0", "the path"]];
    const rest = p > 2 ? " The other weights and the constant are held where they are at this strength." : " The constant is held.";
    const name = `Contours of the mean loss, the ball and the path in the plane of ${data.names[a]} and ${data.names[b]}.`;
    show("plane", c.svg(name) + key(words), `The solution is where the ball of this size touches the lowest contour.${rest}`);
  };

  // -- along the path -------------------------------------------------------------------------------
  const NAMED = 8; // lines with a name
  const strength = () => {
    const lams = path().lams;
    return axis(lams[0], lams[lams.length - 1], "strength λ", true);
  };
  const ranked = () => once("ranked", (one) => {
    const size = data.names.map((_, j) => {
      let top = 0;
      for (let k = 0; k < one.lams.length; k++) top = Math.max(top, Math.abs(one.w[k * p + j]));
      return top;
    });
    return [...size.keys()].sort((i, j) => size[j] - size[i]);
  });
  const spread = (places, room, low, high) => {
    // names moved apart where they would meet
    const order = [...places.keys()].sort((i, j) => places[i] - places[j]);
    const found = [...places];
    order.forEach((i, r) => { if (r) found[i] = Math.max(found[i], found[order[r - 1]] + room); });
    const over = found[order[order.length - 1]] - high;
    if (over > 0) {
      found[order[order.length - 1]] -= over;
      for (let r = order.length - 2; r >= 0; r--) found[order[r]] = Math.min(found[order[r]], found[order[r + 1]] - room);
    }
    return found;
  };
  const along = (order) => {
    const one = path();
    const c = chart(strength(), spanning([0, ...one.w], data.unit), { right: 100 });
    c.level(0, "zero");
    const row = (j) => [...one.lams.keys()].map((k) => one.w[k * p + j]);
    for (const j of order.slice(NAMED, 60)) c.line(one.lams, row(j), "faint");
    const named = order.slice(0, NAMED);
    [...named.entries()].reverse().forEach(([rank, j]) => c.line(one.lams, row(j), look(rank)));
    const ends = named.map((j) => Number(c.py(one.w[(one.lams.length - 1) * p + j])));
    const places = spread(ends, 13, TOP, c.bottom);
    named.forEach((j, rank) => {
      c.add(`<path class="tie ${look(rank)}" d="M${c.end} ${ends[rank]}L${c.end + 7} ${places[rank]}"/>`);
      c.add(`<text class="name ${look(rank)}" x="${c.end + 9}" y="${places[rank] + 4}">${safe(clipped(data.names[j], 12))}</text>`);
    });
    c.upright(one.lams[state.k], "cursor");
    show("weights", c.svg("Weights along the path, the largest ones named."));
  };
  const trade = () => {
    const one = path();
    const { budgets, risks, lams } = one;
    const [h, r, lam] = [budgets[state.k], risks[state.k], lams[state.k]];
    const x = spanning([0, ...budgets], "size of the ball, c");
    const c = chart(x, spanning(risks, "mean loss"));
    c.line(budgets, risks, "s1 d0");
    c.dots(budgets, risks, "s1");
    c.add(`<clipPath id="trade"><rect x="${LEFT}" y="${TOP}" width="${c.end - LEFT}" height="${c.bottom - TOP}"/></clipPath><g clip-path="url(#trade)">`);
    c.line([x.low, x.high], [r - lam * (x.low - h), r - lam * (x.high - h)], "s2 d1");
    c.add("</g>");
    c.follower(h, r, "s2");
    show("trade", c.svg("Mean loss against the size of the ball.") + key([["s1 d0", "best mean loss in a ball"], ["s2 d1", "slope −λ"]]));
  };
  const gaps = () => {
    const { gaps: values, lams } = path();
    const seen = [...values].filter((v) => v > 0);
    const [low, high] = [Math.min(data.tol, ...seen), Math.max(data.tol, ...seen)];
    const c = chart(strength(), axis(low / 3, high * 3, "relative gap", true));
    c.level(data.tol, "choice d1");
    c.dots(lams, values.map((v) => Math.max(v, low / 2)), "medium s3");
    c.upright(lams[state.k], "cursor");
    c.follower(lams[state.k], Math.max(values[state.k], low / 2), "s3");
    show("gap", c.svg("The proven relative gap of every point.") + key([["s3 d0", "proven at this point"], ["choice d1", `wanted, ${number(data.tol, 2)}`]]));
  };

  // -- rows -----------------------------------------------------------------------------------------
  const BINS = 36; // bars of a histogram
  const ends = () => once("ends", (one) => {
    // over the whole path, so that the bars move and not the axis; what lies far out is left outside
    const all = [0, one.lams.length >> 1, one.lams.length - 1].flatMap((k) => [...argument(scores(one, k))]).sort((a, b) => a - b);
    const cutoff = Math.floor(all.length * 0.02);
    let [low, high] = [all[cutoff], all[all.length - 1 - cutoff]];
    if (classes) [low, high] = [Math.min(low, -0.5), Math.max(high, 1.5)];
    return high > low ? [low, high] : [low - 1, high + 1];
  });
  const errors = (argued) => {
    const [low, high] = ends();
    const l = loss();
    const groups = classes ? [1, -1] : [0];
    const counts = groups.map(() => new Float64Array(BINS));
    argued.forEach((v, i) => {
      const bin = Math.min(Math.max(Math.floor(((v - low) / (high - low)) * BINS), 0), BINS - 1);
      counts[classes && y[i] < 0 ? 1 : 0][bin] += share[i];
    });
    const tallest = Math.max(...counts[0].map((v, i) => v + (counts[1] ? counts[1][i] : 0)));
    const x = axis(low, high, classes ? "margin: class (±1) times decision" : `residual: prediction minus ${data.target}`);
    const c = chart(x, axis(0, tallest * 1.08, "share of the rows"), { right: 46 });
    const base = new Float64Array(BINS);
    counts.forEach((of, g) => {
      const bars = [...of].map((v, i) => {
        const [from, to] = [c.px(low + ((high - low) * i) / BINS), c.px(low + ((high - low) * (i + 1)) / BINS)];
        const piece = v ? `M${from} ${c.py(base[i])}V${c.py(base[i] + v)}H${to}V${c.py(base[i])}Z` : "";
        base[i] += v;
        return piece;
      });
      c.add(`<path class="bars s${classes ? [0, 2][g] : 0}" d="${bars.join("")}"/>`);
    });
    c.upright(classes ? 1 : 0, "mark zero");
    if (classes) c.upright(0, "mark zero");
    const curve = Array.from({ length: 121 }, (_, i) => low + ((high - low) * i) / 120);
    const heights = curve.map(l);
    const top = Math.max(...heights) || 1;
    c.line(curve, heights.map((v) => (v / top) * tallest), "s4 d0");
    for (const v of steps(0, top, 4)) {
      const up = Number(c.py((v / top) * tallest));
      c.add(`<text class="tick" x="${c.end + 5}" y="${up + 4}">${number(v, 2)}</text>`);
    }
    const words = classes
      ? [["solid s0", `${data.target} = ${data.classes[1]}`], ["solid s2", `${data.target} = ${data.classes[0]}`], ["s4 d0", "loss (scale on the right)"]]
      : [["solid s0", "rows"], ["s4 d0", "loss (scale on the right)"]];
    const beyond = argued.filter((v) => (classes ? v < 0 : false)).length;
    const told = classes
      ? `${beyond} of ${n} rows are on the wrong side (margin below 0). Rows beyond the ends are in the last bars.`
      : "The loss says how much a residual hurts. Rows beyond the ends are in the last bars.";
    show("errors", c.svg(classes ? "Margins of the rows, with the loss." : "Residuals of the rows, with the loss.") + key(words), told);
  };
  const SHOWN = 600; // rows drawn as dots
  const cloud = (z) => {
    const some = [...Array(n).keys()].filter((i) => i % Math.ceil(n / SHOWN) === 0);
    if (!classes) {
      const all = Float64Array.from(y, (v, i) => z[i] - v);
      const c = chart(spanning([...y], `predicted ${clipped(data.target, 30)}`), spanning([...y].map((v) => mean(y) - v), "prediction minus truth"));
      c.level(0, "zero");
      c.dots(some.map((i) => z[i]), some.map((i) => all[i]), "s0");
      show("rows", c.svg("Residuals against predictions."), "A dot per row. The first point of the path predicts one number for all.");
      return;
    }
    const [a, b] = [state.first, state.second];
    const w = weights(path(), state.k);
    const column = (j) => X.subarray(j * n, (j + 1) * n);
    const [x, up] = [a, b].map((j) => spanning(column(j), `${clipped(data.names[j], 28)}${data.scaled ? ", standardised" : ", centred"}`));
    const c = chart(x, up, { height: 300 });
    c.add('<clipPath id="cloud"><rect x="' + LEFT + '" y="' + TOP + `" width="${c.end - LEFT}" height="${c.bottom - TOP}"/></clipPath>`);
    for (const [sign, kind] of [[-1, "s2"], [1, "s0"]]) {
      const of = some.filter((i) => y[i] === sign);
      c.dots(of.map((i) => X[a * n + i]), of.map((i) => X[b * n + i]), `medium ${kind}`);
    }
    c.add('<g clip-path="url(#cloud)">');
    const constant = path().b[state.k];
    for (const [level, kind] of [[0, "s1 d0"], [1, "s1 d1"], [-1, "s1 d1"]]) {
      const flat = Math.abs(w[b]) > Math.abs(w[a]);
      if (!w[a] && !w[b]) continue;
      const [from, to] = flat ? [x.low, x.high] : [up.low, up.high];
      const other = (v) => (level - constant - (flat ? w[a] : w[b]) * v) / (flat ? w[b] : w[a]);
      c.line(flat ? [from, to] : [other(from), other(to)], flat ? [other(from), other(to)] : [from, to], kind);
    }
    c.add("</g>");
    const words = [["solid s0", data.classes[1]], ["solid s2", data.classes[0]], ["s1 d0", "decision 0"], ["s1 d1", "decision ±1"]];
    show("rows", c.svg("Rows in the plane of the two columns, with the decision line.") + key(words), p > 2 ? "The lines are for rows whose other columns are at their means." : "A dot per row.");
  };

  // -- words and numbers ----------------------------------------------------------------------------
  const tell = (z, argued) => {
    const one = path();
    const k = state.k;
    const w = weights(one, k);
    const used = w.reduce((sum, v) => sum + (v !== 0), 0);
    const hurt = mean(argued.map(loss()));
    const right = mean(argued.map((m) => (m > 0 ? 1 : 0)));
    const told = {
      lam: number(one.lams[k], 4), ball: number(one.budgets[k], 4), risk: number(one.risks[k], 5),
      objective: number(one.risks[k] + one.lams[k] * one.budgets[k], 5), gap: number(one.gaps[k], 2),
      used: `${used} of ${p}`, explained: `${number(100 * (1 - hurt / data.losses[state.loss].constant), 4)} %`,
    };
    if (classes) told.right = `${number(100 * right, 3)} %`;
    for (const [name, words] of Object.entries(told)) at(`tile-${name}`).textContent = words;
    at("read-strength").textContent = `λ = ${told.lam}`;
    at("read-ball").textContent = `c = ${told.ball}`;
    at("strength").setAttribute("aria-valuetext", `λ = ${told.lam}`);
    at("ball").setAttribute("aria-valuetext", `c = ${told.ball}`);
    at("loss-words").textContent = data.losses[state.loss].words;
    at("penalty-words").textContent = data.penalties[state.penalty].words;
    at("proof-words").textContent = one.words;
  };
  const LISTED = 16; // weights in the list
  const list = (order) => {
    const one = path();
    const w = weights(one, state.k);
    const top = Math.max(...order.slice(0, LISTED).map((j) => Math.max(...[...one.lams.keys()].map((k) => Math.abs(one.w[k * p + j]))))) || 1;
    at("list").innerHTML = order.slice(0, LISTED).map((j, rank) => {
      const bar = `<i class="${w[j] < 0 ? "minus" : "plus"}" style="width:${((50 * Math.abs(w[j])) / top).toFixed(1)}%"></i>`;
      const kind = rank < NAMED ? look(rank) : "faint";
      return `<li><svg class="swatch" viewBox="0 0 26 10" aria-hidden="true"><path class="line ${kind}" d="M1 5H25"/></svg>` +
        `<span class="of">${safe(data.names[j])}</span><span class="bar" aria-hidden="true">${bar}</span><span class="value">${number(w[j], 3)}</span></li>`;
    }).join("");
  };

  // -- moving ---------------------------------------------------------------------------------------
  const [slider, ball] = [at("strength"), at("ball")];
  const nearest = (values, wanted) => {
    let best = 0;
    values.forEach((v, k) => { if (Math.abs(v - wanted) < Math.abs(values[best] - wanted)) best = k; });
    return best;
  };
  const STEPS = 200; // places of the slider of the ball
  const drawAll = () => {
    const one = path();
    const z = scores(one, state.k);
    const argued = argument(z);
    const order = ranked();
    slider.max = one.lams.length - 1;
    slider.value = state.k;
    ball.value = Math.round((STEPS * one.budgets[state.k]) / (one.budgets[one.budgets.length - 1] || 1));
    tell(z, argued);
    plane(z);
    along(order);
    trade();
    errors(argued);
    cloud(z);
    gaps();
    list(order);
  };
  let waiting = false;
  const draw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; drawAll(); });
  };
  slider.addEventListener("input", () => { state.k = Number(slider.value); draw(); });
  ball.addEventListener("input", () => {
    const { budgets } = path();
    const wanted = (Number(ball.value) / STEPS) * budgets[budgets.length - 1];
    const here = budgets[state.k];
    const step = Math.sign(wanted - here);
    let found = nearest(budgets, wanted);
    // a key always moves, though points lie further apart, or several within one ball
    while (step && (budgets[found] - here) * step <= 1e-4 * Math.abs(here) && found + step in budgets) found += step;
    state.k = found;
    draw();
  });
  const choose = (name) => {
    for (const input of document.querySelectorAll(`input[name="${name}"]`)) {
      input.addEventListener("change", () => {
        const before = path();
        const place = before.lams.length > 1 ? state.k / (before.lams.length - 1) : 0;
        state[name] = Number(input.value);
        available();
        state.k = Math.round(place * (path().lams.length - 1)); // as far along as before
        draw();
      });
    }
  };
  const available = () => {
    // where a pair was not solved, the other choice moves to one that was
    const solved = (l, q) => data.paths[l][q] !== null;
    for (const input of document.querySelectorAll('input[name="penalty"]')) input.disabled = !solved(state.loss, Number(input.value));
    if (!solved(state.loss, state.penalty)) state.penalty = data.paths[state.loss].findIndex((one) => one !== null);
    document.querySelector(`input[name="penalty"][value="${state.penalty}"]`).checked = true;
  };
  for (const name of ["first", "second"]) {
    const select = at(name);
    select.value = String(state[name]);
    select.addEventListener("change", () => {
      const other = name === "first" ? "second" : "first";
      const chosen = Number(select.value);
      if (chosen === state[other]) { // one column cannot span a plane: they change places
        state[other] = state[name];
        at(other).value = String(state[other]);
      }
      state[name] = chosen;
      draw();
    });
  }
  choose("loss");
  choose("penalty");
  state.loss = Number(document.querySelector('input[name="loss"]:checked').value);
  state.penalty = Number(document.querySelector('input[name="penalty"]:checked').value);
  available();
  state.k = Math.round(0.6 * (path().lams.length - 1));
  drawAll();
})();
