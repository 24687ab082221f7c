// Runs one attack, in a process of its own and behind all others: what it costs the machine is not to be
// taken for what it costs the gateway.
//
// Usage (by the harness): fork('attacker-process.ts', [NAME]), or [NAME, 'harmless']
import { ATTACKS } from './attacks.ts';
import { stayBehind } from './priority.ts';
import { type Facts, Target } from './target.ts';

/** What the harness says, in this order. */
export type AttackerJob =
  | { readonly kind: 'prepare'; readonly facts: Facts }
  | { readonly kind: 'begin' }
  | { readonly kind: 'stop' };
/** What is said in return. */
export type AttackerReply =
  | { readonly kind: 'prepared' }
  | { readonly kind: 'done'; readonly did: string }
  | { readonly kind: 'failed'; readonly error: string };

const over = new AbortController();
let begin: () => void = () => undefined;

function say(reply: AttackerReply): void {
  process.send?.(reply);
}

function run([name, part]: readonly string[], facts: Facts): void {
  const attack = ATTACKS.find((known) => known.name === name);
  const act = part === 'harmless' ? attack?.harmless : attack?.run;
  if (act === undefined) throw new Error(`there is no attack ${name}`);
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const target = new Target(facts, over.signal, async () => {
    say({ kind: 'prepared' });
    await begun;
  });
  act(target).then(
    (did) => say({ kind: 'done', did }),
    (error: unknown) =>
      say({ kind: 'failed', error: error instanceof Error ? (error.stack ?? '') : String(error) }),
  );
}

stayBehind();
process.on('message', (job: AttackerJob) => {
  if (job.kind === 'prepare') run(process.argv.slice(2), job.facts);
  else if (job.kind === 'begin') begin();
  else over.abort();
});
process.on('disconnect', () => process.exit(0));
