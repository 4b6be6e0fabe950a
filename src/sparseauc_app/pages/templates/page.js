"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // ---- light and dark ------------------------------------------------------------------------

  const night = window.matchMedia("(prefers-color-scheme: dark)");
  const theme = () => root.dataset.theme || (night.matches ? "dark" : "light");
  const button = document.getElementById("page-theme");
  const name = () => {
    const other = theme() === "dark" ? "Light" : "Dark";
    document.getElementById("page-theme-label").textContent = other;
    button.setAttribute("aria-label", `Switch to ${other.toLowerCase()} colours`);
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("sparseauc-theme", root.dataset.theme);
    } catch {
      // Not remembered, then.
    }
    name();
  });
  night.addEventListener("change", name);
  name();

  window.addEventListener("beforeprint", () => all("details").forEach((one) => { one.open = true; }));

  // ---- figures: hide a series, read a point --------------------------------------------------

  for (const entry of all("button.entry")) {
    entry.addEventListener("click", () => {
      const hide = entry.getAttribute("aria-pressed") === "true";
      entry.setAttribute("aria-pressed", String(!hide));
      const figure = entry.closest("figure");
      for (const part of all(`svg [data-series="${entry.dataset.series}"]`, figure)) {
        part.classList.toggle("hidden", hide);
      }
    });
  }

  const reading = document.createElement("div");
  reading.className = "reading";
  reading.hidden = true;
  document.body.append(reading);
  for (const plot of all(".plot")) {
    const points = all(".readings circle", plot).map((circle) => {
      const title = circle.querySelector("title");
      const text = title.textContent;
      title.remove(); // else the browser shows it too
      return { circle, text };
    });
    let here = null;
    const leave = () => {
      if (here) here.circle.classList.remove("here");
      here = null;
      reading.hidden = true;
    };
    plot.addEventListener("pointermove", (event) => {
      let nearest = null;
      let distance = 30;
      for (const point of points) {
        if (point.circle.classList.contains("hidden")) continue;
        const box = point.circle.getBoundingClientRect();
        const x = box.x + box.width / 2 - event.clientX;
        const away = Math.hypot(x, box.y + box.height / 2 - event.clientY);
        if (away < distance) [nearest, distance] = [{ ...point, box }, away];
      }
      leave();
      if (!nearest) return;
      here = nearest;
      here.circle.classList.add("here");
      reading.textContent = here.text;
      reading.hidden = false;
      const room = root.clientWidth - reading.offsetWidth - 8;
      const left = Math.min(here.box.right + 6, room);
      const above = here.box.top - reading.offsetHeight - 4;
      reading.style.left = `${Math.max(8, left) + window.scrollX}px`;
      reading.style.top = `${(above > 0 ? above : here.box.bottom + 6) + window.scrollY}px`;
    });
    plot.addEventListener("pointerleave", leave);
  }

  // ---- figures: save as SVG or PNG -----------------------------------------------------------

  // What the figure shows, in light colours: its drawings, and the words of titles and legends.
  const asSvg = (figure) => {
    const before = root.dataset.theme;
    root.dataset.theme = "light";
    const frame = figure.getBoundingClientRect();
    const made = (name, values, text = "") => {
      const element = document.createElementNS(figure.querySelector("svg").namespaceURI, name);
      for (const [key, value] of Object.entries(values)) element.setAttribute(key, value);
      element.textContent = text;
      return element;
    };
    const whole = made("svg", { "font-family": "Helvetica, Arial, sans-serif" });
    const paper = made("rect", { width: "100%", height: "100%", fill: "white" });
    whole.append(made("style", {}, ".hidden { display: none }"), paper);
    let bottom = 0;
    for (const part of all(".plot > svg, .entry > svg", figure)) {
      const box = part.getBoundingClientRect();
      const copy = part.cloneNode(true);
      for (const reading of all(".readings", copy)) reading.remove();
      const place = { x: box.x - frame.x, y: box.y - frame.y, width: box.width, height: box.height };
      for (const [key, value] of Object.entries(place)) copy.setAttribute(key, value);
      whole.append(copy);
      bottom = Math.max(bottom, box.bottom - frame.y);
    }
    for (const part of all("h3, .panel-title, .entry", figure)) {
      const style = getComputedStyle(part);
      const range = document.createRange();
      range.selectNodeContents(part.querySelector("span:not(.unseen)") || part);
      if (part.matches(".entry:not(:has(span))")) range.setStartAfter(part.querySelector("svg"));
      const box = range.getBoundingClientRect();
      const size = parseFloat(style.fontSize);
      const place = { x: box.x - frame.x, y: box.y - frame.y + box.height / 2 + 0.35 * size };
      const look = { "font-size": size, "font-weight": style.fontWeight, fill: style.color };
      const words = part.cloneNode(true);
      for (const other of all(".unseen, svg", words)) other.remove();
      whole.append(made("text", { ...place, ...look }, words.textContent.trim()));
    }
    const width = Math.ceil(frame.width);
    const height = Math.ceil(bottom + 8);
    for (const [key, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) whole.setAttribute(key, value);
    const colours = getComputedStyle(root);
    const named = (_, colour) => colours.getPropertyValue(colour).trim();
    const text = new XMLSerializer().serializeToString(whole).replace(/var\((--[\w-]+)\)/g, named);
    if (before === undefined) delete root.dataset.theme;
    else root.dataset.theme = before;
    return { text, width, height };
  };
  const save = (address, file) => {
    const link = document.createElement("a");
    link.href = address;
    link.download = file;
    link.click();
  };
  for (const button of all("button.save")) {
    const figure = button.closest("figure");
    button.hidden = false;
    button.addEventListener("click", () => {
      const { text, width, height } = asSvg(figure);
      const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
      if (button.dataset.kind === "svg") return save(address, `${figure.id}.svg`);
      const image = new Image();
      image.onload = () => {
        const canvas = document.createElement("canvas");
        canvas.width = 3 * width;
        canvas.height = 3 * height;
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        save(canvas.toDataURL("image/png"), `${figure.id}.png`);
      };
      image.src = address;
    });
  }

  // ---- tables: sort by a column --------------------------------------------------------------

  const value = (row, place) => {
    const { dataset, textContent } = row.cells[place];
    return dataset.value === undefined ? textContent : Number(dataset.value);
  };
  const compare = (a, b) => (typeof a === typeof b && typeof a === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true }));
  for (const table of all("table.listing")) {
    const body = table.tBodies[0];
    const heads = all("thead th", table);
    if (body.rows.length < 2) continue;
    heads.forEach((head, place) => {
      const press = document.createElement("button");
      press.type = "button";
      press.textContent = head.textContent;
      head.replaceChildren(press);
      press.addEventListener("click", () => {
        const falling = head.getAttribute("aria-sort") !== "descending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const rows = [...body.rows];
        rows.sort((a, b) => compare(value(a, place), value(b, place)) * (falling ? -1 : 1));
        body.append(...rows);
      });
    });
  }

  const edges = () => {
    for (const box of all(".scroll")) {
      const left = box.scrollWidth - box.clientWidth - box.scrollLeft;
      box.classList.toggle("more", left > 4);
    }
  };
  for (const box of all(".scroll")) box.addEventListener("scroll", edges, { passive: true });
  window.addEventListener("resize", edges);
  edges();

  // ---- code: copy ----------------------------------------------------------------------------

  for (const code of all(".code")) {
    const copy = document.createElement("button");
    copy.type = "button";
    copy.className = "copy";
    copy.textContent = "Copy";
    copy.addEventListener("click", () => {
      const range = document.createRange();
      range.selectNodeContents(code.querySelector("code"));
      window.getSelection().removeAllRanges();
      window.getSelection().addRange(range);
      // Pages from disk have no clipboard of their own; the selection is left for the keyboard.
      copy.textContent = document.execCommand("copy") ? "Copied" : "Selected";
    });
    code.append(copy);
  }

  // ---- contents: where the reader is ---------------------------------------------------------

  const links = new Map(all(".contents a").map((link) => [link.hash.slice(1), link]));
  const places = [...links.keys()].map((id) => document.getElementById(id));
  const mark = () => {
    const passed = places.filter((place) => place.getBoundingClientRect().top < 120);
    const here = passed.length ? passed[passed.length - 1].id : null;
    for (const [id, link] of links) {
      if (id === here) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    }
  };
  window.addEventListener("scroll", mark, { passive: true });
  mark();
})();
