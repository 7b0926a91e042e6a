import { SingleBar } from 'cli-progress';
import pc from 'picocolors';
import type { FieldFault } from '@holdoff/url-job';

/** What is shown while a list is sent, all of it on standard error. */
export interface EnqueueView {
  read(bytes: number): void;
  counted(sent: number, refused: number): void;
  refused(place: string, fault: FieldFault): void;
  waiting(entries: number | null): void;
  close(): void;
}

const REFUSED_SHOWN = 20;

/** @param bytesTotal of all files; 0: unknown */
export function createEnqueueView(
  stream: NodeJS.WritableStream & { readonly isTTY?: boolean },
  bytesTotal: number,
  quiet: boolean,
): EnqueueView {
  const bar = stream.isTTY === true && !quiet ? createBar(stream, bytesTotal) : undefined;
  let shown = 0;
  let told = false;
  const say = (line: string): void => {
    // The bar redraws itself on the next line.
    if (bar !== undefined) stream.write('\r\u001b[K');
    stream.write(`${line}\n`);
  };
  return {
    read: (bytes) => bar?.increment(bytes),
    counted: (sent, refused) => bar?.update({ sent, refused }),
    refused: (place, { field, value, rule }) => {
      shown += 1;
      if (shown <= REFUSED_SHOWN)
        say(`${pc.yellow('refused')} ${place}: ${field} ${JSON.stringify(value)} ${rule}`);
      else if (shown === REFUSED_SHOWN + 1) say(`${pc.yellow('refused')} more lines, not listed`);
    },
    waiting: (entries) => {
      bar?.update({ state: entries === null ? '' : 'waiting for the schedulers' });
      if (entries !== null && !told && bar === undefined && !quiet)
        say(`the inbox holds ${entries} entries; waiting for the schedulers`);
      told = entries !== null;
    },
    close: () => bar?.stop(),
  };
}

function createBar(stream: NodeJS.WritableStream, bytesTotal: number): SingleBar {
  const counts = '{sent} sent · {refused} refused {state}';
  const bar = new SingleBar({
    stream,
    hideCursor: true,
    fps: 5,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 30,
    format: bytesTotal > 0 ? `${pc.green('{bar}')} {percentage} % · ${counts}` : counts,
  });
  bar.start(Math.max(1, bytesTotal), 0, { sent: 0, refused: 0, state: '' });
  return bar;
}
