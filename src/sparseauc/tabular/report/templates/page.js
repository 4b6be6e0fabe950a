"use strict";
(() => {
  const root = document.documentElement;
  const themes = JSON.parse(document.getElementById("page-themes").textContent);
  const night = window.matchMedia("(prefers-color-scheme: dark)");
  const theme = () => root.dataset.theme || (night.matches ? "dark" : "light");

  // ---- figures -------------------------------------------------------------------------------

  const faint = (hex, alpha) => {
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    return `rgba(${red},${green},${blue},${alpha})`;
  };

  const paint = ({ trace, label, colour, part }, colours, hidden) => {
    const ink = colours.series[colour];
    const painted = { ...trace, visible: !hidden.has(label) };
    if (part === "band") {
      painted.fillcolor = faint(ink, 0.16);
      painted.line = { ...trace.line, color: ink };
    } else if (part === "bar") {
      painted.marker = { color: ink };
      if (trace.error_y) painted.error_y = { ...trace.error_y, color: colours.text };
    } else {
      painted.line = { ...trace.line, color: ink };
      painted.marker = { ...trace.marker, color: ink };
      if (trace.error_y) painted.error_y = { ...trace.error_y, color: ink };
    }
    return painted;
  };

  const family = getComputedStyle(root).getPropertyValue("--sans");

  const layout = (panel, colours, size) => {
    const axis = {
      gridcolor: colours.grid,
      linecolor: colours.rule,
      tickcolor: colours.rule,
      ticks: "outside",
      ticklen: 4,
      showline: true,
      tickfont: { size: 12 },
    };
    return {
      ...panel.layout,
      ...size,
      xaxis: { ...axis, ...panel.layout.xaxis },
      yaxis: { ...axis, ...panel.layout.yaxis },
      font: { family, size: 12.5, color: colours.text },
      paper_bgcolor: colours.background,
      plot_bgcolor: colours.background,
      margin: { l: 52, r: 10, t: 10, b: 44 },
      showlegend: false,
      hovermode: "closest",
      // A swipe over a plot should go on scrolling the page.
      dragmode: window.matchMedia("(pointer: coarse)").matches ? false : "zoom",
      hoverlabel: {
        bgcolor: colours.surface,
        bordercolor: colours.rule,
        font: { family, size: 12.5, color: colours.text },
        align: "left",
      },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colours.quiet, activecolor: colours.text },
    };
  };

  const figures = [...document.querySelectorAll("figure[data-plot]")].map((figure) => ({
    name: figure.dataset.plot,
    element: figure,
    panels: JSON.parse(figure.querySelector("script[type='application/json']").textContent),
    plots: [...figure.querySelectorAll(".plot")],
    hidden: new Set(),
  }));

  const draw = (figure, name, size) => {
    const colours = themes[name];
    const config = {
      displaylogo: false,
      responsive: true,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
      toImageButtonOptions: { filename: figure.name, scale: 2 },
    };
    figure.panels.forEach((panel, place) => {
      const data = panel.traces.map((trace) => paint(trace, colours, figure.hidden));
      Plotly.react(figure.plots[place], data, layout(panel, colours, size), config);
    });
  };

  const drawAll = () => figures.forEach((figure) => draw(figure, theme(), { autosize: true }));

  for (const figure of figures) {
    for (const button of figure.element.querySelectorAll(".legend button")) {
      button.addEventListener("click", () => {
        const { label } = button.dataset;
        if (!figure.hidden.delete(label)) figure.hidden.add(label);
        button.setAttribute("aria-pressed", String(!figure.hidden.has(label)));
        draw(figure, theme(), { autosize: true });
      });
    }
  }

  // Paper is white and as wide as it is, whatever the screen was.
  window.addEventListener("beforeprint", () => {
    for (const figure of figures) {
      const alone = figure.panels.length === 1;
      const size = alone ? { width: 560, height: 320 } : { width: 330, height: 250 };
      draw(figure, "light", { ...size, autosize: false });
    }
  });
  window.addEventListener("afterprint", () => {
    for (const plot of document.querySelectorAll(".plot")) plot.removeAttribute("style");
    drawAll();
  });

  // ---- light and dark ------------------------------------------------------------------------

  const button = document.getElementById("page-theme");
  const word = document.getElementById("page-theme-label");
  const name = () => {
    const other = theme() === "dark" ? "Light" : "Dark";
    word.textContent = other;
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
    drawAll();
  });
  night.addEventListener("change", () => {
    name();
    drawAll();
  });
  name();
  drawAll();

  // ---- contents: where the reader is ---------------------------------------------------------

  const links = new Map(
    [...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]),
  );
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
