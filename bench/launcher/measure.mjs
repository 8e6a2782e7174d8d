// Measures two commands that start a sidecar, in turns: the time from start to the ready line, and the memory (PSS) of
// the process itself and of everything that it started, at rest. Prints medians and ratios (first command / second).
//
//   node measure.mjs PAIRS FIRST... -- SECOND...
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const restMs = 1500; // until memory is read: long enough for Chromium to have started all its processes
const endMs = 15_000;

const [pairs, ...rest] = process.argv.slice(2);
const cut = rest.indexOf("--");
if (!(Number(pairs) > 0) || cut < 1 || cut === rest.length - 1) {
  console.error("usage: node measure.mjs PAIRS FIRST... -- SECOND...");
  process.exit(64);
}
const commands = [rest.slice(0, cut), rest.slice(cut + 1)];

const parents = () => {
  const of = new Map();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      of.set(Number(pid), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {} // it ended meanwhile
  }
  return of;
};

const descendants = (root) => {
  const of = parents();
  const found = [root];
  for (const pid of found) for (const [child, parent] of of) if (parent === pid) found.push(child);
  return found.slice(1);
};

const pss = (pid) => {
  try {
    return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0) / 1024;
  } catch {
    return 0; // it ended meanwhile
  }
};

const measure = async ([command, ...args]) => {
  const started = performance.now();
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify({ token: "measured-measured-measured-measured", app_url: "http://127.0.0.1:3000", chromium_sandbox: process.getuid() !== 0 }));
  let out = "";
  for await (const chunk of child.stdout) if ((out += chunk).includes("\n")) break;
  const ready = performance.now() - started;
  if (!out.includes('"ready"')) throw new Error(`${command} printed no ready line: ${out}`);
  await pause(restMs);
  const below = descendants(child.pid);
  const figures = { ready, own: pss(child.pid), browser: below.reduce((sum, pid) => sum + pss(pid), 0) };
  const gone = new Promise((exit) => child.once("exit", exit));
  const stopping = performance.now();
  child.kill("SIGTERM");
  const kill = setTimeout(() => child.kill("SIGKILL"), endMs);
  await gone;
  clearTimeout(kill);
  return { ...figures, stop: performance.now() - stopping };
};

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

for (const command of commands) await measure(command); // a warm-up, not counted
const rows = [[], []];
for (let i = 0; i < Number(pairs); i++)
  for (const which of i % 2 ? [1, 0] : [0, 1]) rows[which].push(await measure(commands[which]));

const names = { ready: "start to ready line, ms", own: "the process itself, MiB", browser: "its Chromium, MiB", stop: "SIGTERM to exit, ms" };
for (const [key, name] of Object.entries(names)) {
  const [first, second] = rows.map((of) => median(of.map((row) => row[key])));
  console.log(`${name.padEnd(26)} ${first.toFixed(1).padStart(8)} ${second.toFixed(1).padStart(8)}   ratio ${(first / second).toFixed(2)}`);
}
