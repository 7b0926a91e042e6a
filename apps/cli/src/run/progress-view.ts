import { stripVTControlCharacters } from 'node:util';
import { MultiBar, type SingleBar } from 'cli-progress';
import pc from 'picocolors';
import type { RunProgress } from './watch-batch.ts';

export interface ProgressView {
  show(progress: RunProgress): void;
  /** A line above the bars. */
  say(line: string): void;
  close(): void;
}

const HOST_ROWS = 6;

/** A bar for the run in a terminal, and below it one row for each of the busiest hosts with the cause of its wait. */
export function createProgressView(stream: NodeJS.WriteStream): ProgressView {
  const bars = new MultiBar({
    stream,
    hideCursor: true,
    clearOnComplete: true,
    forceRedraw: true,
    fps: 5,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 30,
    format: `${pc.green('{bar}')} {value}/{total} ended · {done} done · {stopped} stopped`,
  });
  const run = bars.create(1, 0, { done: 0, stopped: 0 });
  const rows: SingleBar[] = [];
  return {
    show(progress) {
      run.setTotal(Math.max(1, progress.total));
      run.update(progress.done + progress.stopped, { done: progress.done, stopped: progress.stopped });
      const lines = hostRows(progress, stream.columns ?? 80);
      while (rows.length < lines.length) rows.push(bars.create(1, 0, { row: '' }, { format: '{row}' }));
      while (rows.length > lines.length) {
        const spare = rows.pop();
        if (spare !== undefined) bars.remove(spare);
      }
      for (const [index, row] of rows.entries()) row.update(0, { row: lines[index] ?? '' });
      bars.update();
    },
    // The bars' terminal does not wrap: what is longer than it is wide would be cut.
    say: (line) => bars.log(`${wrap(line, stream.columns ?? 80)}\n`),
    close: () => bars.stop(),
  };
}

/** Breaks a line between words; a word that is longer than a line stays whole. */
export function wrap(line: string, columns: number): string {
  const lines: string[] = [];
  for (const word of line.split(' ')) {
    const last = lines.at(-1);
    const longer = `${last ?? ''} ${word}`;
    if (last !== undefined && stripVTControlCharacters(longer).length <= columns)
      lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.join('\n');
}

/**
 * One line each time something changed, for output that is no terminal; and one with the cause when nothing has
 * changed for a while.
 */
export function createPlainView(
  write: (line: string) => void,
  everyMs: number,
  stillEveryMs: number,
  nowMs: () => number,
): ProgressView {
  let last = '';
  let lastAt = Number.NEGATIVE_INFINITY;
  return {
    show(progress) {
      const line = counts(progress);
      const quietMs = nowMs() - lastAt;
      if (quietMs < (line === last ? stillEveryMs : everyMs)) return;
      write(line === last ? `${line} (${causeOf(progress)})` : line);
      last = line;
      lastAt = nowMs();
    },
    say: write,
    close: () => undefined,
  };
}

export const silentView: ProgressView = {
  show: () => undefined,
  say: () => undefined,
  close: () => undefined,
};

function counts({ total, done, stopped }: RunProgress): string {
  const left = Math.max(0, total - done - stopped);
  return `${done + stopped}/${total} ended: ${done} done, ${stopped} stopped, ${left} to go`;
}

/** What holds up a run that stands still. */
function causeOf({ hosts, elsewhere }: RunProgress): string {
  const [host] = hosts;
  if (host !== undefined) return `${host.host}: ${host.cause === '' ? 'in flight' : host.cause}`;
  return elsewhereRow(elsewhere);
}

function elsewhereRow(count: number): string {
  return `${count} ${count === 1 ? 'waits for a back-off of its own' : 'wait for a back-off of their own'}, or for a worker`;
}

function hostRows(progress: RunProgress, columns: number): string[] {
  const rows = progress.hosts.slice(0, HOST_ROWS).map((host) => {
    const name = host.host.length > 30 ? `${host.host.slice(0, 29)}…` : host.host.padEnd(30);
    const state = `${String(host.waiting).padStart(6)} waiting ${String(host.inFlight).padStart(3)} in flight`;
    const room = columns - name.length - state.length - 4;
    return `  ${name} ${state}  ${pc.yellow(host.cause.slice(0, Math.max(0, room)))}`;
  });
  if (progress.elsewhere > 0) rows.push(pc.dim(`  ${elsewhereRow(progress.elsewhere)}`));
  if (progress.hostsMore > 0) rows.push(pc.dim(`  and ${progress.hostsMore} more hosts at work`));
  return rows;
}
