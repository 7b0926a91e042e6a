import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { readBoundedLines } from '@holdoff/service-runtime';
import type { Listing } from '@holdoff/url-job';
import { localDate, parseUrlTemplate } from '@holdoff/url-job/schedule-file';
import type { RunData } from './schedule-queue.ts';

const LINE_BYTES_MAX = 16_384;

/** A URL as its source has it, and what it is when it is no page. */
export interface RunUrl {
  readonly url: string;
  readonly reads?: Listing;
}

/**
 * The URLs of one run, from its templates, its sitemap or its list: one a line, blank lines and lines that begin with `#` left out.
 * A line that is too long is given cut, for the inbox to refuse by its rules where its producers see it.
 *
 * @throws Error when the list cannot be read
 */
export async function* readRunUrls(data: RunData): AsyncGenerator<RunUrl> {
  const { sitemap } = data.schedule;
  // A worker fetches it as it fetches anything, with the host's waits, and enters what it lists.
  if (sitemap !== undefined) {
    const date = localDate(data.schedule.zone, data.firingMs);
    yield { url: sitemap.replaceAll('{date}', date), reads: 'sitemap' };
    return;
  }
  for await (const url of readPages(data)) yield { url };
}

async function* readPages({ schedule, folder, firingMs }: RunData): AsyncGenerator<string> {
  const date = localDate(schedule.zone, firingMs);
  const filled = (text: string): string => text.replaceAll('{date}', date);
  if (schedule.urls !== undefined) {
    for (const text of schedule.urls) {
      const parsed = parseUrlTemplate(text);
      if (parsed.kind === 'ok') yield* parsed.template.expand(date);
    }
    return;
  }
  const path = resolve(folder, filled(schedule.list ?? ''));
  for await (const line of readBoundedLines(createReadStream(path), LINE_BYTES_MAX)) {
    const text =
      line.kind === 'line' ? line.text.replace(/^\uFEFF/, '').trim() : `line ${line.number} of ${path}`;
    if (text !== '' && !text.startsWith('#')) yield text;
  }
}
