/**
 * The compatibility matrix as text: one row for each client, transport and server with a column for each
 * behaviour, and the short form for the documentation. Both have numbered reasons below.
 */
import { BEHAVIOUR_NAMES, type BehaviourName } from './behaviours.ts';
import { CLIENTS, impossible, ROWS, type Row, SERVERS, TRANSPORTS } from './rows.ts';

/** What became of each row's behaviours: what went wrong, if anything did. */
export type Outcomes = ReadonlyMap<Row, ReadonlyMap<BehaviourName, string | undefined>>;

/** Numbers for reasons, in the order in which they are first asked for. */
class Footnotes {
  readonly #numbers = new Map<string, number>();

  mark(reason: string): string {
    const number = this.#numbers.get(reason) ?? this.#numbers.size + 1;
    this.#numbers.set(reason, number);
    return `– (${number})`;
  }

  lines(): string[] {
    return [...this.#numbers].map(([reason, number]) => `(${number}) ${reason}`);
  }
}

/** Every cell, for a terminal. */
export function fullTable(outcomes: Outcomes): string {
  const notes = new Footnotes();
  const rows = ROWS.map((row) => {
    const reason = impossible(row);
    const cells = BEHAVIOUR_NAMES.map((name) => {
      if (reason !== undefined) return notes.mark(reason);
      return worked(outcomes, row, name) ? 'ok' : 'FAILS';
    });
    return [row.client, row.transport, row.server, ...cells];
  });
  const table = aligned([['client', 'transport', 'server', ...BEHAVIOUR_NAMES], ...rows]);
  return [...table, '', ...notes.lines()].join('\n');
}

/** One line for each client and transport: what works, out of all behaviours. */
export function shortTable(outcomes: Outcomes): string {
  const notes = new Footnotes();
  const cell = (row: Row): string => {
    const reason = impossible(row);
    if (reason !== undefined) return notes.mark(reason);
    const works = BEHAVIOUR_NAMES.filter((name) => worked(outcomes, row, name));
    return works.length === BEHAVIOUR_NAMES.length ? 'all' : works.join(', ');
  };
  const rows = CLIENTS.flatMap((client) =>
    TRANSPORTS.map((transport) => {
      const mine = ROWS.filter((row) => row.client === client && row.transport === transport);
      return [client, transport, ...mine.map(cell)];
    }),
  );
  const table = aligned([['client', 'transport', ...SERVERS], ...rows]);
  return [...table, '', ...notes.lines()].join('\n');
}

/** A Markdown table with columns of even width; the first row is its head. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const [head = []] = rows;
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map(
    (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`,
  );
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [...lines.slice(0, 1), rule, ...lines.slice(1)];
}

/** A behaviour that was not tried did not work. */
function worked(outcomes: Outcomes, row: Row, name: BehaviourName): boolean {
  const outcome = outcomes.get(row);
  return outcome?.has(name) === true && outcome.get(name) === undefined;
}
