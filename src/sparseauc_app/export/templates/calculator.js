"use strict";
const MODEL = JSON.parse(document.getElementById("model").textContent);
const isMissing = (x) => x === null || x === undefined || x === "" || Number.isNaN(x);
const byId = (id) => document.getElementById(id);

// A typed number; a sign such as > before it is left out. A decimal comma counts as a point, but of
// 250,000 nobody knows whether it is 250 thousand, and it is no number, unless those of training had
// such a decimal sign.
function readNumber(text, limits, decimal) {
  let bare = String(text).trim().replace(/\u2212/g, "-");
  if (limits) {
    bare = bare.replace(/^\s*[<>≤≥~]=?\s*/, "");
    if (!/\d/.test(bare)) return null;
  }
  if (!bare) return null;
  const thousands = decimal === "," ? "." : ",";
  if (/^[+-]?[1-9]\d{0,2}[.,]\d{3}$/.test(bare) && bare.includes(thousands)) return undefined;
  if (!bare.includes(".")) bare = bare.replace(/^([^,]*),([^,]*)$/, "$1.$2");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(bare) ? Number(bare) : undefined;
}

const clipped = ({ low, high }, x) => (low !== null && x < low ? low : high !== null && x > high ? high : x);

// What a column adds to the score: null if the value is needed, or infinite.
function effectOf({ formula, kind }, raw) {
  if (kind === "text") {
    const text = isMissing(raw) ? "" : String(raw).trim();
    return Object.hasOwn(formula.effects, text) ? formula.effects[text] : formula.missing;
  }
  const given = isMissing(raw) ? formula.missing : Number(raw);
  if (given === null || !Number.isFinite(given)) return null;
  const x = clipped(formula, given);
  const [, origin, ...coef] = formula.pieces.findLast(([start]) => start === null || x > start);
  return coef.reduceRight((sum, one) => sum * (x - origin) + one, 0);
}

// The score of a row, an object of values by column; null if there is none.
function scoreOf(row) {
  let score = MODEL.intercept;
  for (const one of MODEL.columns) {
    const effect = effectOf(one, row[one.column]);
    if (effect === null) return null;
    score += effect;
  }
  return score;
}

function riskOf(score) {
  const how = MODEL.risk_map;
  if (how === null || score === null) return null;
  const linear = how.slope * score + how.intercept;
  return how.link === "cloglog" ? -Math.expm1(-Math.exp(linear)) : 1 / (1 + Math.exp(-linear));
}

const short = (x) => String(Number(x.toPrecision(4))).replace("-", "\u2212");
const inPercent = (p) => {
  const x = 100 * p;
  return (x < 1 || x > 99 ? x.toFixed(1) : x.toFixed(0)) + " %";
};

// The points of a column: whole ones where the model has them, else those of the nomogram.
function pointsOf(one, row) {
  const effect = effectOf(one, row[one.column]);
  const scale = MODEL.nomogram;
  return effect === null || MODEL.points || !scale ? effect : (effect - scale.least[one.column]) / scale.unit;
}

function readForm() {
  const row = {};
  const told = { imputed: [], outside: [], wrong: 0, entered: 0 };
  MODEL.columns.forEach((one, place) => {
    const field = byId("f" + place);
    const missing = field.options ? "missing" in field.selectedOptions[0].dataset : false;
    let value = one.kind === "number" ? readNumber(field.value, one.limits, one.decimal) : missing ? null : field.value;
    let mark = "";
    if (value === undefined) {
      mark = "Not a number: write 1234.5, without a sign between thousands.";
      told.wrong += 1;
      value = null;
    } else if (value !== null) {
      told.entered += 1;
      if (one.kind === "number" && one.low !== null && (value < one.low || value > one.high)) {
        mark = "⚠ Outside the training range: check the unit.";
        told.outside.push(one.column);
      }
    } else if (!one.required) told.imputed.push(one.column);
    byId("m" + place).textContent = mark;
    field.setAttribute("aria-invalid", mark ? "true" : "false");
    row[one.column] = value;
  });
  return [row, told];
}

function cell(kind, text, scope) {
  const made = document.createElement(kind);
  made.textContent = text;
  if (scope) made.scope = scope;
  return made;
}

function tableRow(kinds, texts) {
  const line = document.createElement("tr");
  texts.forEach((text, place) => line.append(cell(kinds[place], text, kinds[place] === "th" ? "row" : "")));
  return line;
}

function describeValue(one, row) {
  const raw = row[one.column];
  if (!isMissing(raw)) {
    if (one.kind === "boolean") return Number(raw) ? "yes" : "no";
    if (one.kind === "text") return String(raw);
    const value = clipped(one.formula, Number(raw));
    return value !== Number(raw) ? short(value) + " (limit)" : short(raw);
  }
  if (one.required) return "needed";
  return one.kind === "number" ? short(one.formula.missing) + " (filled in)" : "(filled in)";
}

function mark(group, share) {
  const dot = group.querySelector("circle");
  const { left, span } = dot.ownerSVGElement.dataset;
  dot.toggleAttribute("hidden", share === null);
  if (share !== null) dot.setAttribute("cx", Number(left) + span * Math.min(1, Math.max(0, share)));
}

function update() {
  const [row, told] = readForm();
  const score = told.wrong || !told.entered ? null : scoreOf(row);
  const risk = riskOf(score);
  const remarks = [];
  const meaning = byId("meaning");
  byId("risk").textContent = score === null ? "–" : risk === null ? short(score) : inPercent(risk);
  if (score === null) {
    meaning.textContent = told.wrong ? "Correct the marked values."
      : told.entered ? "Enter the values that are needed." : "Enter at least one value.";
  } else {
    const predicted = score > MODEL.threshold ? MODEL.positive : MODEL.negative;
    meaning.textContent = risk === null
      ? MODEL.name + " " + short(score) + "; above " + short(MODEL.threshold) + " is labelled " + MODEL.positive + "."
      : "Of 1000 cases with these values, about " + Math.round(1000 * risk) + " have " + MODEL.event +
        ". " + MODEL.name + " " + short(score) + (MODEL.labels ? ", labelled " + predicted : "") + ".";
    if (told.imputed.length) remarks.push("Filled in: " + told.imputed.join(", ") + ".");
    if (told.outside.length) remarks.push("Outside the training range: " + told.outside.join(", ") + ".");
  }
  byId("remarks").textContent = remarks.join(" ");
  const parts = MODEL.columns.map((one) => pointsOf(one, row));
  const digits = MODEL.points ? 6 : MODEL.nomogram ? 3 : 4;
  const write = (x) => (x === null ? "–" : MODEL.nomogram && !MODEL.points ? x.toFixed(1) : String(Number(x.toPrecision(digits)))).replace("-", "\u2212");
  byId("parts").replaceChildren(...MODEL.columns.map((one, place) =>
    tableRow(["th", "td", "td"], [one.column, describeValue(one, row), told.entered ? write(parts[place]) : "–"])));
  const total = parts.includes(null) || score === null ? null : parts.reduce((a, b) => a + b, 0);
  byId("total").replaceChildren(tableRow(["th", "td", "td"], ["Total", "", write(total)]));
  if (MODEL.points) {
    [...byId("risks").rows].forEach((line, place) => {
      const [above, upTo] = MODEL.points[place];
      const here = total !== null && (above === null || total > above) && (upTo === null || total <= upTo);
      if (here) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
    });
  }
  const scale = MODEL.nomogram;
  if (scale) {
    const groups = [...document.querySelectorAll("svg g")];
    const sum = score === null ? null
      : (score - MODEL.intercept - Object.values(scale.least).reduce((a, b) => a + b, 0)) / scale.unit;
    groups.slice(1).forEach((group) => {
      const column = group.dataset.column;
      if (column === undefined) mark(group, sum === null ? null : sum / scale.largest);
      else {
        const part = effectOf(MODEL.columns.find((one) => one.column === column), row[column]);
        mark(group, score === null ? null : (part - scale.least[column]) / scale.unit / 100);
      }
    });
  }
}

byId("form").addEventListener("input", update);
byId("form").addEventListener("submit", (event) => event.preventDefault());
byId("form").addEventListener("reset", () => setTimeout(update));
update();
