/**
 * The admin listener's /metrics as a table of samples, and the check that the gateway's tables are empty.
 */
import { send } from './http-client.ts';
import { PATIENCE_MS, until } from './until.ts';

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** Parses Prometheus text. @throws Error on a line that is neither a comment nor a sample. */
export function parseMetrics(text: string): Sample[] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => {
    const match = SAMPLE.exec(line);
    if (!match) throw new Error(`not a sample: ${line}`);
    const [, name = '', labelText = '', value = ''] = match;
    const labels: Record<string, string> = {};
    for (const [, key = '', raw = ''] of labelText.matchAll(LABEL)) {
      labels[key] = raw.replace(/\\n/g, '\n').replace(/\\(["\\])/g, '$1');
    }
    return { name, labels, value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value) };
  });
}

/** Fetches `<adminUrl>/metrics` as it is. */
export async function fetchMetricsText(adminUrl: string): Promise<string> {
  const response = await send(`${adminUrl}/metrics`);
  if (response.status !== 200) throw new Error(`GET /metrics answered ${response.status}`);
  return response.text;
}

/** Fetches and parses `<adminUrl>/metrics`. */
export async function fetchMetrics(adminUrl: string): Promise<Sample[]> {
  return parseMetrics(await fetchMetricsText(adminUrl));
}

/** The sum of the samples called `name` whose labels include `labels`; 0 when there is none. */
export function metricSum(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  return samples
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([k, v]) => sample.labels[k] === v))
    .reduce((sum, sample) => sum + sample.value, 0);
}

const TABLES = [
  'sluice_requests_in_flight',
  'sluice_queue_depth',
  'sluice_sessions',
  'sluice_streams',
  'sluice_held_bytes',
];

/** What is held for servers, whatever clients there are: their lists, and what they have not read yet. */
const LASTING = new Set(['list', 'to_server']);
const isLasting = ({ name, labels }: Sample): boolean =>
  name === 'sluice_held_bytes' && LASTING.has(labels['kind'] ?? '');

/** Waits until no call, queued call, session or stream is left, and nothing is held. @throws Error naming what is. */
export async function assertTablesEmpty(
  gateway: { readonly adminUrl: string },
  timeoutMs = PATIENCE_MS,
): Promise<void> {
  let left: Sample[] = [];
  try {
    await until(
      async () => {
        const text = await fetchMetricsText(gateway.adminUrl);
        const missing = TABLES.filter((name) => !text.includes(`# TYPE ${name} gauge`));
        if (missing.length > 0) throw new Error(`no such gauge: ${missing.join(', ')}`);
        left = parseMetrics(text).filter(
          (sample) => TABLES.includes(sample.name) && sample.value !== 0 && !isLasting(sample),
        );
        return left.length === 0;
      },
      { timeoutMs, what: 'empty tables' },
    );
  } catch (cause) {
    throw new Error(`tables are not empty: ${JSON.stringify(left)}`, { cause });
  }
}
