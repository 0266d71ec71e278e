/**
 * The script of the page of a check. It replaces the server's charts with those of uPlot, which show values at the pointer
 * and zoom, and adds buttons that copy commands. Both come again after each update of the page.
 */
import UPLOT_SOURCE from "uplot/dist/uPlot.iife.min.js" with { type: "text" };
import UPLOT_STYLE from "uplot/dist/uPlot.min.css" with { type: "text" };

export const CHECK_SCRIPT: string = `${UPLOT_SOURCE}
"use strict";
(() => {
  const HEIGHT = 180;
  const DASHES = [[], [5, 3], [1, 3]];
  const style = document.createElement("style");
  style.textContent = ${JSON.stringify(UPLOT_STYLE)};
  document.head.append(style);

  const plots = new Map();
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const duration = (ms) => ms === null ? "\u2013" : ms < 1000 ? Math.round(ms * 10) / 10 + " ms" : Math.round(ms / 10) / 100 + " s";
  const number = (value) => value === null ? "\u2013" : String(Number(value.toPrecision(4)));
  const dataOf = ({ from, step, values }) => {
    const lines = values.split(";").map((line) => line.split(",").map((value) => value === "" ? null : Number(value)));
    return [lines[0].map((_, index) => (Number(from) + index * Number(step)) / 1000), ...lines];
  };
  const isZoomed = ({ scales: { x }, data: [times] }) => x.min > times[0] || x.max < times.at(-1);
  const create = (figure, data) => {
    const tzDate = (seconds) => uPlot.tzDate(new Date(seconds * 1000), figure.dataset.zone);
    const write = figure.dataset.unit === "ms" ? duration : number;
    const axis = { stroke: color("--soft"), font: "12px system-ui", grid: { stroke: color("--rule"), width: 1 }, ticks: { show: false } };
    const times = (_plot, splits, _axis, _space, step) => {
      const write = uPlot.fmtDate(step < 86400 ? "{HH}:{mm}" : "{MM}-{DD}");
      return splits.map((seconds) => write(tzDate(seconds)));
    };
    return new uPlot({
      width: figure.clientWidth,
      height: HEIGHT,
      tzDate,
      scales: { y: { range: (_plot, least, most) => [Math.min(0, least * 1.05), most > 0 ? most * 1.05 : least < 0 ? 0 : 1] } },
      series: [
        { label: "Time", value: "{YYYY}-{MM}-{DD} {HH}:{mm}" },
        ...figure.dataset.names.split(",").map((label, index) => (
          { label, stroke: color(index < 3 ? "--link" : "--rule"), width: 1.5, dash: DASHES[index], value: (_plot, value) => write(value) }
        )),
      ],
      axes: [{ ...axis, size: 30, values: times }, { ...axis, size: 64, values: (_plot, ticks) => ticks.map(write) }],
    }, data, figure);
  };
  const drawCharts = () => {
    for (const figure of document.querySelectorAll("figure[data-values]")) {
      const { span } = figure.dataset;
      const plot = plots.get(span);
      if (plot !== undefined && figure.contains(plot.root)) continue;
      const data = dataOf(figure.dataset);
      figure.classList.add("drawn");
      if (plot === undefined) {
        plots.set(span, create(figure, data));
      } else {
        figure.append(plot.root);
        plot.setData(data, !isZoomed(plot));
      }
    }
  };

  const copy = async (code, button) => {
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      // Only pages from this machine or with TLS may use the clipboard.
      getSelection().selectAllChildren(code);
      document.execCommand("copy");
      getSelection().removeAllRanges();
    }
    button.textContent = "Copied";
  };
  const addButtons = () => {
    for (const code of document.querySelectorAll(".commands code:last-child")) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Copy";
      button.setAttribute("aria-label", "Copy " + code.textContent);
      button.addEventListener("click", () => copy(code, button));
      code.after(" ", button);
    }
  };

  const draw = () => {
    drawCharts();
    addButtons();
  };
  draw();
  new MutationObserver(draw).observe(document.body, { childList: true });
  new ResizeObserver(() => {
    for (const plot of plots.values()) plot.setSize({ width: plot.root.parentElement.clientWidth, height: HEIGHT });
  }).observe(document.body);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const plot of plots.values()) plot.destroy();
    plots.clear();
    drawCharts();
  });
})();
`;
