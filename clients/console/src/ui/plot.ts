// uPlot with the tokens of the page. Loaded only where a chart is shown.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Series } from './charts';

const HEIGHT = 160;

/** Draws the series into an element; returns the function that ends it. */
export function plot(box: HTMLElement, at: number[], series: Series[], colours: string[]): () => void {
  const style = getComputedStyle(box);
  // A canvas does not resolve custom properties with light-dark(); the computed colour of a probe does.
  const probe = document.createElement('i');
  box.append(probe);
  const colour = (name: string) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const axis = {
    stroke: colour('--text-3'),
    grid: { stroke: colour('--line'), width: 1 },
    font: `11px ${style.fontFamily}`,
  };
  const chart = new uPlot(
    {
      width: Math.max(200, box.clientWidth),
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false },
      axes: [{ ...axis }, { ...axis, size: 56 }],
      scales: { y: { range: (_u, _min, max) => [0, Math.max(max * 1.1, 0.0001)] } },
      series: [
        {},
        ...series.map((s, i) => ({
          label: s.name,
          stroke: colour(colours[i % colours.length] ?? '--accent'),
          width: 1.5,
          points: { show: false },
        })),
      ],
    },
    [at.map((time) => time / 1000), ...series.map((s) => s.values)],
    box,
  );
  probe.remove();
  const watch = new ResizeObserver(() => chart.setSize({ width: Math.max(200, box.clientWidth), height: HEIGHT }));
  watch.observe(box);
  return () => {
    watch.disconnect();
    chart.destroy();
  };
}
