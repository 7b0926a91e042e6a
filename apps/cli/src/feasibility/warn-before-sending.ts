import pc from 'picocolors';
import { parseInstant } from '@holdoff/url-job';
import { EntryListFault, type EntrySource } from '../enqueue/read-entries.ts';
import type { RunStore } from '../run/run-store.ts';
import { type CountOptions, countUrls, readableTwice } from './count-urls.ts';
import { describeWarnings } from './describe-forecast.ts';
import { forecastBatch } from './forecast.ts';
import { lookUpPace } from './look-up-pace.ts';

/**
 * Says on standard error which hosts cannot make the deadline, before the first URL is sent. It only ever warns: what
 * cannot be found out keeps nobody from sending. Lists that can be read only once are not looked at.
 */
export async function warnBeforeSending(
  store: Pick<RunStore, 'redis' | 'gate'>,
  deployment: string,
  sources: readonly EntrySource[],
  options: CountOptions & { readonly say: (line: string) => void },
): Promise<void> {
  try {
    const { byHostname } = await countUrls(await readableTwice(sources), options);
    const instant = (text: string | undefined): number | null => {
      const parsed = text === undefined ? undefined : parseInstant('', text, options.nowMs);
      return parsed?.kind === 'ok' ? parsed.value : null;
    };
    const { deadline, not_before: notBefore } = options.defaults;
    const works = await lookUpPace(store, {
      deployment,
      byHostname,
      given: new Map(),
      deadlineMs: instant(deadline),
      notBeforeMs: instant(notBefore),
    });
    for (const line of describeWarnings(forecastBatch(works))) options.say(`${pc.yellow('warning')} ${line}`);
  } catch (error) {
    // The sending stumbles over it as well, and says so once.
    if (error instanceof EntryListFault) return;
    const cause = error instanceof Error ? error.message : String(error);
    options.say(`${pc.yellow('warning')} whether the deadline can be met is not known: ${cause}`);
  }
}
