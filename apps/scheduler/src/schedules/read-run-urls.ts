import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { readBoundedLines } from '@holdoff/service-runtime';
import { localDate } from '@holdoff/url-job/schedule-file';
import type { RunData } from './schedule-queue.ts';

const LINE_BYTES_MAX = 16_384;

/**
 * The URLs of one run, from its templates or its list: one a line, blank lines and lines that begin with `#` left out.
 * A line that is too long is given cut, for the inbox to refuse by its rules where its producers see it.
 *
 * @throws Error when the list cannot be read
 */
export async function* readRunUrls({ schedule, folder, firingMs }: RunData): AsyncGenerator<string> {
  const date = localDate(schedule.zone, firingMs);
  const filled = (text: string): string => text.replaceAll('{date}', date);
  if (schedule.urls !== undefined) {
    yield* schedule.urls.map(filled);
    return;
  }
  const path = resolve(folder, filled(schedule.list ?? ''));
  for await (const line of readBoundedLines(createReadStream(path), LINE_BYTES_MAX)) {
    const text =
      line.kind === 'line' ? line.text.replace(/^\uFEFF/, '').trim() : `line ${line.number} of ${path}`;
    if (text !== '' && !text.startsWith('#')) yield text;
  }
}
