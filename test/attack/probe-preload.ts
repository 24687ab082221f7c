// The probe's end inside the gateway, preloaded with --import: how long each turn of its event loop takes.
//
// A turn is what happens between two runs of a timer of 1 ms. It costs what the main thread spent of CPU
// time in it: on a busy machine a thread also waits for a processor, which is not the gateway's doing.
//
// Usage: node --import 'FILE-URL-OF-THIS?PREFIX', where PREFIX begins the names of two files:
// PREFIX.now is when the last turn ended and the CPU time until then, PREFIX.turns has a line for each
// turn and each collection of garbage that took long.
import { openSync, readSync, writeSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';

const LONG_MS = 10;
/** So that writing costs the gateway nothing that counts. */
const NOW_EVERY_MS = 10;

const prefix = decodeURIComponent(new URL(import.meta.url).search.slice(1));
// Opened here: there may be no descriptor left when it matters.
const nowFile = openSync(`${prefix}.now`, 'w');
const turnsFile = openSync(`${prefix}.turns`, 'w');
const schedule = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
const text = Buffer.alloc(128);

/** The clock that all processes of the machine share. */
function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** How long the main thread has waited for a processor so far. */
function waitedMs(): number {
  const length = readSync(schedule, text, 0, text.length, 0);
  return Number(text.toString('latin1', 0, length).split(' ')[1]) / 1e6;
}

let lastEnd = monotonicMs();
let lastCpu = cpuMs();
let lastWaited = waitedMs();
let lastWritten = 0;

function turn(): void {
  const end = monotonicMs();
  const cpu = cpuMs();
  const waited = waitedMs();
  const wall = end - lastEnd;
  if (wall >= LONG_MS) {
    const spent = [wall, cpu - lastCpu, waited - lastWaited].map((ms) => ms.toFixed(3));
    writeSync(turnsFile, `turn ${end.toFixed(3)} ${spent.join(' ')}\n`);
  }
  if (end - lastWritten >= NOW_EVERY_MS) {
    lastWritten = end;
    writeSync(nowFile, `${end.toFixed(3)} ${cpu.toFixed(3)}`.padEnd(64), 0);
  }
  lastEnd = end;
  lastCpu = cpu;
  lastWaited = waited;
}

setInterval(turn, 1).unref();

new PerformanceObserver((list) => {
  const offset = monotonicMs() - performance.now();
  for (const { startTime, duration } of list.getEntries()) {
    if (duration < LONG_MS) continue;
    const end = offset + startTime + duration;
    writeSync(turnsFile, `gc ${end.toFixed(3)} ${duration.toFixed(3)} 0 0\n`);
  }
}).observe({ entryTypes: ['gc'] });
